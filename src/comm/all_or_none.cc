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

void AllOrNone::decline(Bootstrap& exchanges, std::uint8_t* votes) noexcept {
  const std::uint8_t has_memory = 0;
  try {
    (void)exchanges.all_gather(&has_memory, votes, sizeof has_memory);
  } catch (const std::bad_alloc&) { // to say that they could not exchange, which the others see as well
  }
}

bool AllOrNone::vote(bool mine) noexcept {
  if (!together_) return false; // the others have left already
  const std::uint8_t has_memory = mine ? 1 : 0;
  Status gathered = exchanges_->all_gather(&has_memory, votes_.data(), sizeof has_memory);
  together_ = gathered && std::find(votes_.begin(), votes_.end(), std::uint8_t{0}) == votes_.end();
  if (!together_) trouble_ = gathered ? out_of_memory() : std::move(gathered).error();
  return together_;
}

} // namespace strata::comm
