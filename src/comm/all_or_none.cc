// SPDX-License-Identifier: BSD-3-Clause
#include "comm/all_or_none.h"

namespace strata::comm {

Error out_of_memory() noexcept {
  try {
    return {ErrorKind::resource, "a rank ran out of memory"};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

bool AllOrNone::vote(bool mine) noexcept {
  if (!together_) return false; // the others have left already
  const std::uint8_t has_memory = mine ? 1 : 0;
  Status gathered = exchanges_->all_gather(&has_memory, votes_.data(), sizeof has_memory);
  const auto end = votes_.begin() + exchanges_->ranks();
  together_ = gathered && std::find(votes_.begin(), end, std::uint8_t{0}) == end;
  if (!together_) trouble_ = gathered ? out_of_memory() : std::move(gathered).error();
  return together_;
}

} // namespace strata::comm
