// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata::transport::shm {

/// Pages of shared memory that will be used soon, so that the first call does not pay for page faults. Only speed
/// depends on it: Linux before 5.14, and a build against its headers, does nothing.
class PagesToPopulate {
public:
  PagesToPopulate() = default;
  PagesToPopulate(const PagesToPopulate&) = delete;
  PagesToPopulate& operator=(const PagesToPopulate&) = delete;
  ~PagesToPopulate() { populate(); }

  /// The pages in which these bytes are, which must be mapped for writing. Where a range begins in the pages of the one
  /// before, or right behind them, the kernel is asked once for both.
  void add(const std::byte* from, std::size_t bytes);

private:
  void populate();

  std::uintptr_t begin_ = 0, end_ = 0; ///< of whole pages; the same: none
};

} // namespace strata::transport::shm
