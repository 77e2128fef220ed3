// SPDX-License-Identifier: BSD-3-Clause
// The process' accelerators, and what strata keeps for them.
#pragma once

#include "comm/stream_words.h"
#include "comm/tally.h"
#include "device/bounce_pool.h"
#include "engine/scratch.h"
#include "topo/device_place.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace strata::comm {

/// How a buffer in device memory takes part in a call.
enum class DevicePath : std::uint8_t {
  peer,          ///< strata's schedules run on the device, whose slots the peers of the machine read
  straight,      ///< likewise, and of the messages to and from other nodes some did not pass through the host
  bounced,       ///< likewise, and of what went to or came from other ranks some did
  staged,        ///< slice by slice through the host, for strata's own schedules
  staged_native, ///< whole, through the host, for the MPI library
};
inline constexpr std::size_t device_paths = 5;

class Device {
public:
  Device(std::unique_ptr<device::Driver> opened, std::size_t most_bounce_bytes, std::size_t most_memory)
      : driver_(std::move(opened)), bounces_(*driver_, most_bounce_bytes), memory_(most_memory), words_(*driver_) {}

  device::Driver& driver() { return *driver_; }
  device::BouncePool& bounces() { return bounces_; }
  /// Device memory of strata's own.
  engine::ScratchBudget& memory() { return memory_; }
  /// Through which streams of the program and strata wait for each other.
  StreamWords& words() { return words_; }
  /// Whether a buffer of the program can be in device memory by now.
  bool in_use() const { return driver_->initialised(); }

  /// A buffer of the program was seen on this device.
  void note_use(std::int32_t number) {
    used_.store(number, std::memory_order_relaxed);
    if (number >= 0 && number < most_devices) all_used_.fetch_or(std::uint64_t{1} << number, std::memory_order_relaxed);
  }
  /// The same, of a buffer of a call that is about to be served, for what is made before the call looks at it.
  void see(const void* buffer) noexcept;
  /// The device that this process works with: where a buffer was seen last. -1 before: whatever initialised the device,
  /// it may not be the program, and nothing is to be taken of it.
  std::int32_t used() const { return used_.load(std::memory_order_relaxed); }

  /// Whether a buffer was ever seen on it: then slots of a plan may be there.
  bool was_used(std::int32_t number) const {
    return number >= 0 && number < most_devices && (all_used_.load(std::memory_order_relaxed) >> number & 1) != 0;
  }

  /// Where that device lies. Asked of hwloc and the driver once, which takes milliseconds. Nothing is known of it
  /// before a buffer was seen, or where neither says.
  const topo::DevicePlace& place(const Options& options);

  void count_call(DevicePath path) { add(path, 1, 0); }
  /// Copied between device and host; of DevicePath::peer, put into slots; of DevicePath::straight and bounced, sent and
  /// received.
  void count_bytes(DevicePath path, std::size_t bytes) { add(path, 0, bytes); }
  /// By path; none that was not taken.
  std::map<std::string, Tally> tallies() const;

  /// Once, after pinned memory was refused: why. Else empty.
  std::string new_trouble();
  /// Whether nobody was told yet that peers' device memory is not used.
  bool first_trouble_with_peers() { return !told_of_peers_.exchange(true); }
  /// Likewise, that devices do not wait for flags.
  bool first_trouble_with_flags() { return !told_of_flags_.exchange(true); }
  /// Flags of peers did not come where they were tried: they are not tried again.
  void give_up_flags() { no_flags_ = true; }
  bool has_given_up_flags() const { return no_flags_; }
  /// Likewise, that they do.
  bool first_flags() { return !told_of_waits_.exchange(true); }

private:
  struct Count {
    std::atomic<std::uint64_t> calls{0}, bytes{0};
  };
  void add(DevicePath path, std::uint64_t calls, std::uint64_t bytes) {
    Count& count = counts_[static_cast<std::size_t>(path)];
    count.calls.fetch_add(calls, std::memory_order_relaxed);
    count.bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

  std::unique_ptr<device::Driver> driver_;
  device::BouncePool bounces_; // refers to the driver
  engine::ScratchBudget memory_;
  StreamWords words_;                              // refers to the driver
  static constexpr std::int32_t most_devices = 64; ///< of a process; nothing is prepared on more
  std::atomic<std::int32_t> used_{-1};
  std::atomic<std::uint64_t> all_used_{0}; ///< a bit for each
  std::mutex place_mutex_;
  std::map<std::int32_t, topo::DevicePlace> places_; ///< by device; stays where it is
  std::array<Count, device_paths> counts_{};
  std::atomic<bool> told_{false}, told_of_peers_{false}, told_of_flags_{false}, told_of_waits_{false};
  std::atomic<bool> no_flags_{false};
};

} // namespace strata::comm
