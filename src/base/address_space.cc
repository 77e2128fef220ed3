// SPDX-License-Identifier: BSD-3-Clause
#include "base/address_space.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace strata {
namespace {

constexpr std::uint64_t part = 4; ///< of what is left, one is strata's

} // namespace

std::optional<std::uint64_t> address_space_left() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/statm", "re"), std::fclose);
  unsigned long long pages = 0;
  if (!file || std::fscanf(file.get(), "%llu", &pages) != 1) return std::nullopt; // NOLINT: the kernel's number
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

std::size_t fair_share(std::size_t wanted, std::uint64_t processes) {
  const auto left = address_space_left();
  return left ? std::min<std::uint64_t>(wanted, *left / part / (processes + 1)) : wanted;
}

std::uint64_t largest_file() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

Status may_map(std::uint64_t bytes, const std::string& what) {
  const auto left = address_space_left();
  if (!left || bytes <= *left / part) return ok();
  return Error{ErrorKind::resource,
               fmt::format("{} takes {} bytes of address space, and of the {} bytes left under its limit (ulimit -v) "
                           "strata takes a quarter at most",
                           what, bytes, *left)};
}

} // namespace strata
