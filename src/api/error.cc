// SPDX-License-Identifier: BSD-3-Clause
#include "api/error.h"

#include "strata/strata.h"

#include <algorithm>
#include <array>

namespace strata::api {
namespace {

// Without a destructor, so that a thread may end after the library was closed.
thread_local std::array<char, 1024> last_message{};

int code_of(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::argument:
    return STRATA_ERR_ARG;
  case ErrorKind::resource:
    return STRATA_ERR_RESOURCE;
  case ErrorKind::unsupported:
    return STRATA_ERR_UNSUPPORTED;
  case ErrorKind::peer:
    return STRATA_ERR_PEER;
  }
  return STRATA_ERR_RESOURCE;
}

} // namespace

int fail(ErrorKind kind, std::string_view message) noexcept {
  const std::size_t bytes = std::min(message.size(), last_message.size() - 1);
  std::copy_n(message.begin(), bytes, last_message.begin());
  last_message[bytes] = '\0';
  return code_of(kind);
}

int fail(const Error& error) noexcept { return fail(error.kind, error.message); }

int fail_for_memory() noexcept { return fail(ErrorKind::resource, "out of memory"); }

} // namespace strata::api

extern "C" __attribute__((visibility("default"))) const char* strata_last_error_message(void) {
  return strata::api::last_message.data();
}

extern "C" __attribute__((visibility("default"))) const char* strata_error_string(int code) {
  switch (code) {
  case STRATA_OK:
    return "success";
  case STRATA_ERR_ARG:
    return "an argument is not allowed";
  case STRATA_ERR_RESOURCE:
    return "memory, descriptors or a device ran out";
  case STRATA_ERR_UNSUPPORTED:
    return "this build or this machine cannot do it";
  case STRATA_ERR_PEER:
    return "another rank is gone, silent, or said something that does not fit";
  default:
    return "no error code of strata";
  }
}
