// SPDX-License-Identifier: BSD-3-Clause
// Steps of a Plan beside a device: the same steps over the same channels, with payloads that may lie in device memory.
//
// A slice works on the host or on the device, by its request; its peers' slices likewise, and nobody knows of the
// others before their payloads come. What a sender's slice and its readers can do decides where a payload lies:
//
//     sender's slice   in its slots on the device, published "aside"     in the channel's memory, as ever
//     on the device    when all readers have mapped these slots          else, through bounce memory of the host
//     on the host      never                                             always
//
// To other nodes a payload goes straight from the device where the transport can read it there, and else through bounce
// memory; one that a transport can write to the device lands in the reader's slice.
//
//     reader's slice   payload aside                                     payload in the channel's memory
//     on the device    the mapped slot is the operand                    the queue copies it to the device first
//     on the host      the queue copies it to the host first             as ever
//
// On the device, steps only enter the queue: what depends on them follows at once, because the queue keeps the order.
// Copies to and from bounce memory run beside it, so that those of one slice overlap the reductions of others; what
// a slice does with what came from the host awaits it. What others see - a payload is published, an operand is let go -
// waits until the mark behind the work has passed. That is the only thing that is asked of the device here, so nothing
// waits, and ranks that share a device leave it to each other between their steps.
//
// Between ranks that have a device each, payloads aside may be promised as soon as they are in the queue: the readers'
// queues wait for flags in their own memory that the sender's sets there, and no host is between two devices. Whether
// that works is tried when a plan is made. The queues cannot wait for each other in a circle: nobody waits for a flag
// before the work that sets it is in a queue, whole, and only for what was there before.
#pragma once

#include "engine/plan.h"

namespace strata::engine {

/// How far the queue is with a step.
enum class Plan::DevicePhase : std::uint8_t {
  fresh,
  waiting, ///< of a slice on the host: for what is promised
  there,   ///< likewise: it is there
  queued,  ///< its work is in the queue
  passed,
};

/// What does a step's last work; each keeps an order of its own.
enum class Plan::DeviceOrder : std::uint8_t { queue, copies_to_host, copies_from_host };

struct Plan::DeviceSide {
  static constexpr std::size_t none = SIZE_MAX;
  using Phase = DevicePhase;
  using By = DeviceOrder;
  struct Incoming {
    const std::byte* peer = nullptr; ///< the sender's slots as they are mapped here; null: its payloads come as ever
    std::size_t bounce = none;       ///< of a message from another node: its place in a slice's bounce memory
    std::size_t fetched = none;      ///< of a reduction's operand: its place in a slice's fetched memory
    std::size_t landing = none;      ///< of a message that may come straight: its place in a slice's landing
  };
  struct Outgoing {
    bool aside = false;                    ///< what goes through shared memory
    bool promised = false;                 ///< likewise, before it is there
    std::vector<std::byte*> flags;         ///< of what is promised: by reader, where its flags are mapped here
    bool shared_by_host = false;           ///< what goes through shared memory cannot go aside
    std::size_t bounce = none;             ///< for what can go neither aside nor straight: its place in bounce memory
    std::size_t least_straight = SIZE_MAX; ///< bytes, as for Channel::least_straight()
    /// For 2^31 slices: a flag that stood still for longer would be taken for one that is ahead.
    bool is_promised(std::uint64_t slice) const { return promised && slice < std::uint64_t{1} << 31; }
    bool goes_straight(std::size_t bytes) const { return bytes >= least_straight; }
    bool bounces(std::size_t bytes) const { return bounce != none && (shared_by_host || !goes_straight(bytes)); }
  };
  /// A message that may come straight.
  struct Landing {
    Port port;
    std::size_t place; ///< in a slice's landing
  };
  struct Step {
    Outgoing send;
    std::vector<Incoming> sources;
  };
  struct Work {
    std::uint32_t slot = 0, step = 0;
    By by = By::queue;
    bool settled = false;
  };

  DeviceSide(DeviceQueue& used, std::optional<MemoryKind> known) : queue(used), networks(known) {}
  Phase& phase(std::uint64_t slot, std::uint32_t step) { return phases[slot * steps.size() + step]; }
  bool full() const { return first + DeviceQueue::marks == end; }

  DeviceQueue& queue;
  std::optional<MemoryKind> networks; ///< what the device's memory is to them; none: they do not reach it
  std::vector<std::byte*> peers;      ///< by rank: its slots as they are mapped here, or null
  std::vector<Step> steps;
  std::vector<Landing> landings;
  std::vector<Phase> phases; ///< by slot and step
  std::array<Work, DeviceQueue::marks> under_way;
  /// Of the work under way, whose mark is the number mod marks; the first is not settled.
  std::uint64_t first = 0, end = 0;
  bool takes_promises = false;   ///< from some of its peers
  std::size_t bounce_bytes = 0;  ///< of a slice
  std::size_t fetched_bytes = 0; ///< of a slice
  Scratch fetched;               ///< copies on the host of operands in peers' slots
  std::vector<DeviceQueue::Operand> operands;
};

} // namespace strata::engine
