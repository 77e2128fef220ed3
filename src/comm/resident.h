// SPDX-License-Identifier: BSD-3-Clause
// Slices of a call that stay in device memory: the plan's steps run on the device, where the peers read its slots.
//
// A buffer that is one piece of device memory is used in place. Any other - in the memory of the host, or in several
// allocations - has a stand-in among the room that the plan's slots keep, filled and emptied by the slice.
#pragma once

#include "base/first_failure.h"
#include "comm/call_blocks.h"
#include "comm/call_buffers.h"
#include "comm/peer_slots.h"
#include "engine/slice_memory.h"

namespace strata::comm {

/// Of one context: one call at a time.
class Resident final : public engine::SliceMemory {
public:
  Resident(Device& device, const CallBuffers& buffers)
      : device_(device), buffers_(buffers), blocks_(device.bounces()) {}
  ~Resident() override { finish(); }

  /// Of buffers in reach of the device of the slots (device::Vector::is_in_reach_of). Takes host memory for the
  /// messages of up to `window` slices, `bounce_bytes` each. False: there is none.
  bool prepare(PeerSlots& slots, std::uint32_t window, std::size_t bounce_bytes);
  /// After the last slice, or after a failure.
  void finish();

  bool on_device() const override { return true; }
  bool begin(std::uint32_t slot, std::size_t first, std::size_t bytes, Room& room) override;
  bool fetched(std::uint32_t) override { return failure_.why().empty(); } // in the queue's order
  void deliver(std::uint32_t slot) override;
  bool delivered(std::uint32_t slot) override;
  const std::string& failure() const override { return failure_.why(); }

private:
  struct Slot {
    std::size_t first = 0, bytes = 0;
    std::size_t block = 0;
    std::unique_ptr<device::Event> emptied;
  };

  std::span<const device::StreamOn> queue() const { return {&queue_, 1}; }

  Device& device_;
  const CallBuffers& buffers_;
  PeerSlots* slots_ = nullptr; ///< of this call
  device::StreamOn queue_;     ///< theirs, which reaches all of both buffers
  std::int32_t device_of_events_ = -1;
  std::vector<Slot> in_flight_;
  CallBlocks blocks_;
  bool input_in_place_ = false, output_in_place_ = false;
  FirstFailure failure_;
};

} // namespace strata::comm
