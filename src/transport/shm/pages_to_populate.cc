// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/pages_to_populate.h"

#include "base/rounding.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace strata::transport::shm {
namespace {

std::uintptr_t page_size() {
  static const auto bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

} // namespace

void PagesToPopulate::add(const std::byte* from, std::size_t bytes) {
  const std::uintptr_t page = page_size(), address = reinterpret_cast<std::uintptr_t>(from);
  const std::uintptr_t begin = address / page * page, end = rounded_up(address + bytes, page);
  if (begin_ < end_ && begin >= begin_ && begin <= end_) {
    end_ = std::max(end_, end);
    return;
  }
  populate();
  begin_ = begin;
  end_ = end;
}

void PagesToPopulate::populate() {
#ifdef MADV_POPULATE_WRITE
  if (begin_ < end_) (void)::madvise(reinterpret_cast<void*>(begin_), end_ - begin_, MADV_POPULATE_WRITE);
#endif
  begin_ = end_ = 0;
}

} // namespace strata::transport::shm
