// SPDX-License-Identifier: BSD-3-Clause
// Calls with buffers in device memory. What runs was chosen without a look at them, alike on all ranks; here this rank
// makes its own buffers fit it.
#include "comm/context.h"

#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::comm {
namespace {

/// Pieces of a call on the board that are under way at once: one is exchanged while the next is fetched, or the one
/// before delivered.
constexpr std::uint32_t board_slots = 2;

} // namespace

/// The peers cannot be told: they wait for what this rank will not send, until its process ends.
void Context::lose_device(const std::string& why) noexcept {
  try {
    watch_.despair(fmt::format("rank {} cannot copy a buffer from or to device memory in call {} on a communicator of "
                               "{} ranks: {}",
                               rank_, calls_, ranks_, why));
  } catch (const std::bad_alloc&) {
    watch_.despair("no memory left"); // short enough to take none
  }
}

/// Whether a buffer of the call is in device memory.
bool Context::uses_device(const Call& call, std::size_t bytes) {
  if (!device_->in_use()) return false;
  Result<bool> on_device = true;
  try {
    if (call.looked != nullptr)
      on_device = (buffers_ = *call.looked).on_device();
    else
      on_device = buffers_.look(*device_, call.input, call.output, bytes);
  } catch (const std::bad_alloc&) {
    on_device = out_of_memory();
  }
  if (on_device) {
    device_use_.seen |= *on_device;
    return *on_device;
  }
  lose_device(on_device.error().message);
  return true;
}

/// Whether the steps of the call can run on the device.
bool Context::reduces_on_device(const Call& call, const Way& way) {
  if (way.slots == nullptr || !way.plan->uses_device()) return false;
  const std::int32_t device = way.slots->device_number();
  if (!buffers_.input.is_in_reach_of(device) || !buffers_.output.is_in_reach_of(device)) {
    tell_trouble_with_peers("a buffer is on another device, in memory of a pool or of a virtual mapping, which may be "
                            "for that device alone");
    return false;
  }
  const Status reduces = way.slots->reduces(call.element, call.operation);
  if (!reduces) tell_trouble_with_peers(reduces.error().message);
  return static_cast<bool>(reduces);
}

void Context::tell_trouble_with_pinning() {
  if (!options_.log_choice) return;
  if (const std::string why = device_->new_trouble(); !why.empty())
    log_line(fmt::format("no pinned memory for buffers in device memory, ordinary memory serves: {}", why));
}

/// False: there is no memory for it.
bool Context::prepare_resident(const Way& way) {
  try {
    if (!resident_) resident_ = std::make_unique<Resident>(*device_, buffers_);
    return resident_->prepare(*way.slots, way.plan->shape().window, way.plan->bounce_bytes());
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// False when a peer or the device is gone.
bool Context::run_on_device(const Call& call, const Way& way, std::size_t bytes) {
  if (watch_.hopeless()) return false;
  // The peers need not know: each of them finds out from every payload where it is.
  if (reduces_on_device(call, way)) {
    const bool prepared = prepare_resident(way);
    tell_trouble_with_pinning();
    if (prepared) {
      device_->count_call(DevicePath::peer);
      const bool done = run_plan(call, way, resident_.get());
      resident_->finish();
      if (way.slots->went_straight()) device_->count_call(DevicePath::straight);
      if (way.slots->bounced()) device_->count_call(DevicePath::bounced);
      return done;
    }
  }
  return run_staged(call, way, bytes);
}

Status Context::prepare_staging(const Way& way, std::size_t bytes) {
  const bool board = is_on_board(way.path);
  const bool in_parts = board && bytes > board_->most_bytes() && is_in_parts(bytes, way.stores);
  const std::size_t slice_bytes = in_parts ? bytes : board ? board_->most_bytes() : way.plan->shape().slice_bytes;
  const std::uint32_t slots = in_parts ? 1 : board ? board_slots : way.plan->shape().window;
  try {
    if (!staging_) staging_ = std::make_unique<Staging>(*device_, buffers_);
    return staging_->prepare(slots, std::min(bytes, slice_bytes));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

/// False when a peer or the device is gone.
bool Context::run_staged(const Call& call, const Way& way, std::size_t bytes) {
  if (watch_.hopeless()) return false;
  const Status prepared = prepare_staging(way, bytes);
  tell_trouble_with_pinning();
  bool done = false;
  if (!prepared)
    lose_device(prepared.error().message);
  else
    done = is_on_board(way.path) ? exchange_staged(call, way, bytes) : run_plan(call, way, staging_.get());
  if (staging_) staging_->finish();
  return done;
}

bool Context::await_copy(bool (Staging::*done)(std::uint32_t), std::uint32_t slot) {
  engine::Waiter waiter(bootstrap_->idle_hook(), crowding_, contention_between_nodes());
  while (!(staging_.get()->*done)(slot)) {
    if (!staging_->failure().empty()) {
      lose_device(staging_->failure());
      return false;
    }
    waiter.step(crowding_ == engine::Crowding::crowded);
  }
  return true;
}

/// All of a vector that the others exchange in parts, not knowing yet that some are in device memory.
bool Context::exchange_parts_staged(const Call& call, const Way& way, std::size_t bytes) {
  Staging::Room room;
  if (!staging_->begin(0, 0, bytes, room)) {
    lose_device(staging_->failure());
    return false;
  }
  if (!await_copy(&Staging::fetched, 0)) return false;
  Call staged = call;
  staged.input = room.input;
  staged.output = room.output;
  if (!exchange_parts_on_board(staged, reducer(call), way.stores)) return false;
  staging_->deliver(0);
  return await_copy(&Staging::delivered, 0);
}

/// In the pieces, and the places of the ring, that the other ranks have, which may have their vectors elsewhere.
bool Context::exchange_staged(const Call& call, const Way& way, std::size_t bytes) {
  if (bytes > board_->most_bytes() && is_in_parts(bytes, way.stores)) return exchange_parts_staged(call, way, bytes);
  const kernel::Reducer reduction = reducer(call);
  const bool in_pieces = bytes > board_->most_bytes();
  const auto exchange = in_pieces ? &Context::exchange_piece_on_board : &Context::exchange_on_board;
  const std::size_t piece = board_->most_bytes() / reduction.element_bytes * reduction.element_bytes;
  if (in_pieces) board_->use_ring(ring_on_board(bytes));
  const std::size_t pieces = (bytes + piece - 1) / piece;
  const auto bytes_of = [&](std::size_t number) { return std::min(piece, bytes - number * piece); };
  std::array<Staging::Room, board_slots> rooms;
  std::array<bool, board_slots> delivering{};
  const auto settle = [&](std::uint32_t slot) {
    if (!delivering[slot]) return true;
    delivering[slot] = false;
    return await_copy(&Staging::delivered, slot);
  };
  std::size_t begun = 0;
  for (std::size_t number = 0; number < pieces; ++number) {
    const auto slot = static_cast<std::uint32_t>(number % board_slots), other = 1 - slot;
    for (; begun < std::min(pieces, number + board_slots); ++begun) {
      const auto next = static_cast<std::uint32_t>(begun % board_slots);
      if (!settle(next)) return false;
      if (staging_->begin(next, begun * piece, bytes_of(begun), rooms[next])) continue;
      if (begun > number) break; // memory for one piece only: later
      if (!settle(other)) return false;
      if (!staging_->begin(next, begun * piece, bytes_of(begun), rooms[next])) {
        lose_device(staging_->failure());
        return false;
      }
    }
    if (!await_copy(&Staging::fetched, slot)) return false;
    Call part = call;
    part.input = rooms[slot].input;
    part.output = rooms[slot].output;
    part.elements = static_cast<std::int64_t>(bytes_of(number) / reduction.element_bytes);
    if (!(this->*exchange)(part, reduction, way.stores)) return false;
    staging_->deliver(slot);
    delivering[slot] = true;
  }
  board_->use_ring(board_->ring_bytes());
  return settle(0) && settle(1);
}

} // namespace strata::comm
