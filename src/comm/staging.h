// SPDX-License-Identifier: BSD-3-Clause
// Buffers in device memory, staged through the host: what the steps of a call read and write is a stand-in in pinned
// memory, filled from the device and emptied to it by the slice, while other slices are under way.
//
//     send on the device ──copy──▶ bounce ──steps, with the peers──▶ bounce ──copy──▶ receive on the device
//
// One rank's affair: neither the schedule nor a peer can tell. A buffer that the host reaches is used in place, so any
// mix of memory kinds works, also between `send` and `receive`.
#pragma once

#include "base/first_failure.h"
#include "comm/call_blocks.h"
#include "comm/call_buffers.h"
#include "engine/slice_memory.h"

#include <optional>
#include <vector>

namespace strata::comm {

/// Of one context: one call at a time.
class Staging final : public engine::SliceMemory {
public:
  Staging(Device& device, const CallBuffers& buffers) : device_(device), buffers_(buffers), blocks_(device.bounces()) {}
  ~Staging() override;

  /// Takes memory for up to `slots` slices of `slice_bytes`; at least one.
  Status prepare(std::uint32_t slots, std::size_t slice_bytes);
  /// After the last slice, or after a failure.
  void finish();

  bool begin(std::uint32_t slot, std::size_t first, std::size_t bytes, Room& room) override;
  bool fetched(std::uint32_t slot) override;
  void deliver(std::uint32_t slot) override;
  bool delivered(std::uint32_t slot) override;
  const std::string& failure() const override { return failure_.why(); }

private:
  /// One way of one device, kept for the next call: an event belongs to the device of its stream.
  struct Lane {
    std::int32_t device = -1;
    std::unique_ptr<device::Stream> stream;
    std::vector<std::unique_ptr<device::Event>> events; ///< by slot
  };
  /// One way of a buffer: a lane for each device that it is on, mostly one.
  struct Lanes {
    std::vector<std::unique_ptr<Lane>> known;
    std::vector<Lane*> open;               ///< of this call; none: the host reaches the buffer, which is used in place
    std::vector<device::StreamOn> streams; ///< of those
  };
  struct Slot {
    std::size_t first = 0, bytes = 0;
    std::size_t block = 0;
  };

  Status open_lanes(Lanes& lanes, const device::Vector& vector, std::uint32_t slots);
  Result<Lane*> open_lane(Lanes& lanes, std::int32_t device, std::uint32_t slots);
  bool mark(const Lanes& lanes, std::uint32_t slot);
  bool passed(const Lanes& lanes, std::uint32_t slot);

  Device& device_;
  const CallBuffers& buffers_;
  Lanes out_, in_; ///< from the devices, and to them: both ways at once
  std::vector<Slot> slots_;
  CallBlocks blocks_;
  FirstFailure failure_;
};

} // namespace strata::comm
