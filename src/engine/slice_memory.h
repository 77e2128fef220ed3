// SPDX-License-Identifier: BSD-3-Clause
// Stand-ins for vectors of a request that its steps cannot use as they are: those in device memory, when the steps run
// on the host; and when they run on the device, those that its peers cannot.
//
// A slice gets room when it starts; its steps begin when its input has been fetched, and it counts as finished when its
// result has been delivered. So the copies of some slices overlap the steps of others, and the schedule knows nothing
// of it: one rank may work this way and another in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strata::engine {

class SliceMemory {
public:
  /// Where a slice's steps read and write, from the slice's first byte on. They may be the same.
  struct Room {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    // Of a slice whose steps run on the device:
    std::byte* scratch = nullptr; ///< regions as in DeviceNeeds
    std::byte* landing = nullptr; ///< likewise, for messages
    std::byte* bounce = nullptr;  ///< host memory for messages, as much as Plan::bounce_bytes() says
  };

  virtual ~SliceMemory() = default;
  /// Whether the steps run on the plan's device: then rooms are in device memory, and what begin() and deliver() do is
  /// in the order of its queue.
  virtual bool on_device() const { return false; }
  /// Begins to fetch so many bytes of the input from byte `first` on. Slices come in order, `slot` is below the plan's
  /// window. False: there is no room before another slice is delivered; asked again.
  virtual bool begin(std::uint32_t slot, std::size_t first, std::size_t bytes, Room& room) = 0;
  /// Whether the input is there.
  virtual bool fetched(std::uint32_t slot) = 0;
  /// Begins to take the result to where it belongs.
  virtual void deliver(std::uint32_t slot) = 0;
  /// Whether it is there; the slot is free then.
  virtual bool delivered(std::uint32_t slot) = 0;
  /// Why nothing goes on any more; empty: all is well.
  virtual const std::string& failure() const = 0;
};

} // namespace strata::engine
