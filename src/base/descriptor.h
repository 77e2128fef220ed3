// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>

#include <utility>

namespace strata {

/// A file descriptor that is closed in the end; or none.
class Descriptor {
public:
  Descriptor() = default;
  /// Negative: none.
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Leaves closing to somebody else.
  int release() { return std::exchange(number_, -1); }
  /// Some file systems tell only here that a write failed.
  bool close() { return ::close(release()) == 0; }

private:
  int number_ = -1;
};

} // namespace strata
