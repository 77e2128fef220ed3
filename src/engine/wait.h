// SPDX-License-Identifier: BSD-3-Clause
// Waiting: spin while cores are enough, yield when a peer needs this core, and keep the MPI library progressing.
#pragma once

#include <cstdint>

namespace strata::engine {

class CoreContention;

/// Called every few microseconds of waiting: the MPI library's progress (MPI 4.0, 3.5: a rank that waits inside our
/// all-reduce must still complete a peer's rendezvous send that was posted before).
struct IdleHook {
  void (*function)(void* state) = nullptr;
  void* state = nullptr;
};

enum class Crowding : std::uint8_t {
  roomy,   ///< every rank of the node has a core of its own: spinning costs nobody
  crowded, ///< more ranks than cores: a rank that spins may keep its peer from running
};

/// One wait: call step() each time that nothing was found to do.
class Waiter {
public:
  /// `contention`: asked whether the cores are crowded by others than `crowding` knows of; null: by none. It outlives
  /// this object.
  Waiter(IdleHook hook, Crowding crowding, CoreContention* contention = nullptr)
      : hook_(hook), crowding_(crowding), contention_(contention) {}

  /// A short pause, a yield, or a nap, by how long the wait has lasted since something happened. `peer_shares_cpu`:
  /// what is waited for can only come when this core is given up.
  void step(bool peer_shares_cpu);
  /// Something happened.
  void reset() { idle_ = yields_ = 0; }

private:
  void yield();
  bool should_yield(bool peer_shares_cpu);

  IdleHook hook_;
  Crowding crowding_;
  CoreContention* contention_;
  std::uint32_t idle_ = 0;
  std::uint32_t yields_ = 0;
};

/// Tells the processor that this is a spin loop.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The CPU that the calling thread runs on.
std::int32_t current_cpu();

} // namespace strata::engine
