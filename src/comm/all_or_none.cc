// SPDX-License-Identifier: BSD-3-Clause
#include "comm/all_or_none.h"

namespace strata::comm {
namespace {

Error error_noexcept(ErrorKind kind, const char* message) noexcept {
  try {
    return {kind, message};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

} // namespace

Error out_of_memory() noexcept { return error_noexcept(ErrorKind::resource, "a rank ran out of memory"); }

Error cannot_tell_memory() noexcept {
  return error_noexcept(ErrorKind::unsupported, "a rank cannot tell device memory from the host's");
}

Error exchange_failed() noexcept { return error_noexcept(ErrorKind::peer, "an exchange failed on a rank"); }

void AllOrNone::decline(Bootstrap& exchanges, std::uint8_t* votes) noexcept {
  const Vote mine = Vote::out_of_memory;
  try {
    (void)exchanges.all_gather(&mine, votes, sizeof mine);
  } catch (const std::bad_alloc&) { // to say that they could not exchange, which the others see as well
  }
}

bool AllOrNone::vote() noexcept {
  if (!together_) return false; // the others have left already
  Status gathered = exchanges_->all_gather(&mine_, votes_.data(), sizeof mine_);
  const auto somebody = [&](Vote vote) { return std::find(votes_.begin(), votes_.end(), vote) != votes_.end(); };
  if (!gathered || somebody(Vote::exchange_failed)) exchanges_work_ = false;
  if (!gathered)
    trouble_ = std::move(gathered).error();
  else if (somebody(Vote::out_of_memory))
    trouble_ = out_of_memory();
  else if (somebody(Vote::cannot_tell_memory))
    trouble_ = cannot_tell_memory();
  else if (somebody(Vote::exchange_failed))
    trouble_ = exchange_failed();
  else
    return true;
  return together_ = false;
}

} // namespace strata::comm
