// SPDX-License-Identifier: BSD-3-Clause
// The device beside a plan: work is put into one queue and runs later, in order, and the plan looks for marks between.
// Copies of a slice to and from the host run beside the queue, so that they overlap the reductions of other slices:
// they begin after what was put in before. What reads what came from the host is to await it; what a copy to the host
// reads is to stay as it is until the mark behind it has passed.
//
// A device keeps two things for a plan: slots, in which it puts payloads for its peers and where they read them, laid
// out as Channel::aside_bytes() says; and room for the slices of requests that work in device memory (SliceMemory).
#pragma once

#include "type/type.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace strata::engine {

class DeviceQueue {
public:
  /// What a reduction reads.
  struct Operand {
    enum class Where : std::uint8_t {
      slot,  ///< a peer's, as it is mapped here
      slice, ///< what the SliceMemory of a request gave
      host,  ///< memory of the host; it must stay as it is until the work has run
    };
    const void* at = nullptr;
    Where where = Where::slice;
  };
  /// Marks that a plan uses: it never has more work under way.
  static constexpr std::uint32_t marks = 64;

  virtual ~DeviceQueue() = default;

  // What puts work into the queue is false when the device has failed: see failure().
  /// Copies from device memory to an offset in the slots.
  virtual bool put_aside(std::size_t offset, const void* from, std::size_t bytes) = 0;
  /// A peer's flag, as it is mapped here, becomes `value` when all that was put into the queue before has run.
  virtual bool set_flag(std::byte* flag, std::uint32_t value) = 0;
  /// What is put into the queue from now on runs after the flag at an offset in the slots has come to `value`.
  virtual bool wait_for_flag(std::size_t offset, std::uint32_t value) = 0;
  /// Copies between memory of any kind.
  virtual bool copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Copies for the slice in a slot of the window, beside the queue. A step makes one at most, the last that it puts
  /// in. Those of a direction run in their order, and one to the host after those from it of its slot.
  virtual bool copy_to_host(std::uint32_t slot, void* to, const void* from, std::size_t bytes) = 0;
  virtual bool copy_from_host(std::uint32_t slot, void* to, const void* from, std::size_t bytes) = 0;
  /// What is put into the queue from now on runs after the slot's copies from the host.
  virtual bool await_copies(std::uint32_t slot) = 0;
  /// As kernel::ReduceFunction, with the same bits; `to` is device memory that the SliceMemory gave.
  virtual bool reduce(type::Element element, type::Operation operation, void* to, std::span<const Operand> from,
                      std::size_t count) = 0;
  /// Puts a mark behind all that a step has put in, whatever it marked before.
  virtual bool mark(std::uint32_t number) = 0;

  /// Where the transports find device memory of a slice, for payloads that do not pass through the host; null: nowhere.
  virtual void* address_for_networks(void* memory) = 0;
  /// So many bytes have gone from there, or come there, over the network.
  virtual void count_straight(std::size_t bytes) = 0;
  /// So many bytes of a payload were copied to the host for others, or came from there.
  virtual void count_bounced(std::size_t bytes) = 0;

  /// Whether all before the mark has run. Never waits.
  virtual bool passed(std::uint32_t number) = 0;
  /// Why nothing runs any more; empty: all is well.
  virtual const std::string& failure() const = 0;
};

/// What a plan asks of a device, in bytes.
struct DeviceNeeds {
  std::size_t slots = 0;                      ///< that peers read; 0: no peer can
  std::size_t first_flag = 0, flag_bytes = 0; ///< where this rank's flags are in the slots
  std::size_t region = 0;                     ///< of a slice's vector
  std::size_t room = 0;    ///< of a slice in device memory: a vector and the scratch, a region each, and the landing
  std::size_t landing = 0; ///< of a slice, for messages from other nodes
  bool straight = false;   ///< some messages to or from other nodes need not pass through the host
  bool leaves_the_node = false; ///< there are such messages
  std::size_t operands = 0;     ///< of all operands and the result of the largest reduction
  std::size_t inputs = 0;       ///< most operands of a reduction, a number
};

} // namespace strata::engine
