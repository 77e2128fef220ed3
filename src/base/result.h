// SPDX-License-Identifier: BSD-3-Clause
// What may fail returns a Result: a value, or an Error whose one line names the thing, its value and what is allowed.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace strata {

/// Kinds of failure that a caller may want to tell apart; the C API maps them to its codes.
enum class ErrorKind {
  argument,    ///< The caller passed something that is not allowed; nothing was sent.
  resource,    ///< Memory, descriptors or a device ran out.
  unsupported, ///< This build or machine cannot do it.
  peer,        ///< Another rank is gone, silent, or said something that does not fit.
};

/// One failure, told in one line.
struct Error {
  ErrorKind kind = ErrorKind::resource;
  std::string message;
};

/// An Error of kind argument: what the caller gave is refused, and nothing was done.
inline Error argument_error(std::string message) { return {ErrorKind::argument, std::move(message)}; }

/// A value or the reason why there is none. Reading the wrong side is a programming error.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return *std::get_if<0>(&state_); }
  const T& operator*() const { return *std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error error() && { return std::move(*std::get_if<1>(&state_)); }

private:
  std::variant<T, Error> state_;
};

struct Nothing {};

/// Success without a value, or an Error.
using Status = Result<Nothing>;
inline Status ok() { return Nothing{}; }

} // namespace strata
