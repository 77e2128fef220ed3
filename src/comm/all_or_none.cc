// SPDX-License-Identifier: BSD-3-Clause
#include "comm/all_or_none.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

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

std::size_t AllOrNone::bytes_to_decline(std::int32_t most_ranks) {
  const auto room = [](std::int32_t ranks) { return static_cast<std::size_t>(ranks) * frame_bytes(ranks); };
  return std::max(room(most_ranks), room(std::min(most_ranks, most_with_messages)));
}

void AllOrNone::decline(Bootstrap& exchanges, std::byte* frames) noexcept {
  const Frame mine{Vote::out_of_memory, 0, {}};
  try {
    (void)exchanges.all_gather(&mine, frames, frame_bytes(exchanges.ranks()));
  } catch (const std::bad_alloc&) { // to say that they could not exchange, which the others see as well
  }
}

Status AllOrNone::exchange_frames(const void* message, std::size_t bytes) noexcept {
  Frame mine{mine_, static_cast<std::uint8_t>(bytes), {}};
  if (bytes > 0) std::memcpy(mine.message, message, bytes);
  try {
    return exchanges_->all_gather(&mine, frames_.data(), frame_bytes_);
  } catch (const std::bad_alloc&) { // to say why it failed
    return exchange_failed();
  }
}

bool AllOrNone::all_are_here(std::size_t bytes) noexcept {
  bool said[votes] = {};
  const bool tell_lengths = frame_bytes_ == sizeof(Frame) && mine_ == Vote::here; // or this rank has no message
  for (std::size_t at = 0; at < frames_.size(); at += frame_bytes_) {
    auto vote = std::to_integer<std::size_t>(frames_[at]);
    const std::size_t length =
        tell_lengths ? std::to_integer<std::size_t>(frames_[at + offsetof(Frame, bytes)]) : bytes;
    // Not what ranks that do the same say.
    if (vote >= votes || (vote == static_cast<std::size_t>(Vote::here) && length != bytes))
      vote = static_cast<std::size_t>(Vote::exchange_failed);
    said[vote] = true;
  }
  const auto somebody = [&](Vote vote) { return said[static_cast<std::size_t>(vote)]; };
  if (somebody(Vote::exchange_failed)) exchanges_work_ = false;
  if (somebody(Vote::out_of_memory))
    trouble_ = out_of_memory();
  else if (somebody(Vote::cannot_tell_memory))
    trouble_ = cannot_tell_memory();
  else if (somebody(Vote::exchange_failed))
    trouble_ = exchange_failed();
  else
    return true;
  return together_ = false;
}

bool AllOrNone::vote() noexcept {
  if (!together_) return false; // the others have left already
  if (Status gathered = exchange_frames(nullptr, 0); !gathered) {
    exchanges_work_ = together_ = false;
    trouble_ = std::move(gathered).error();
    return false;
  }
  return all_are_here(0);
}

Status AllOrNone::all_gather_in_frames(const void* mine, void* all, std::size_t bytes) {
  if (!together_) return Error(trouble_);
  if (Status gathered = exchange_frames(mine, bytes); !gathered) {
    if (mine_ == Vote::here) {
      note_failure();
    } else { // the others may have heard why, and left
      exchanges_work_ = together_ = false;
      trouble_ = gathered.error();
    }
    return gathered;
  }
  if (!all_are_here(bytes)) return Error(trouble_);
  if (bytes == 0) return ok(); // and `all` may be null
  auto* to = static_cast<std::byte*>(all);
  for (std::size_t at = 0; at < frames_.size(); at += frame_bytes_, to += bytes)
    std::memcpy(to, frames_.data() + at + offsetof(Frame, message), bytes);
  return ok();
}

} // namespace strata::comm
