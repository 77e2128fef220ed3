// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wait.h"

#include "engine/core_contention.h"

#include <sched.h>
#include <time.h>

namespace strata::engine {
namespace {

constexpr std::uint32_t hook_period = 128;   // pauses between two calls of the hook: about 5 µs
constexpr std::uint32_t crowded_spins = 200; // then a rank gives its core away even to a peer on another one
constexpr std::uint32_t roomy_spins = 4096;  // some 100 us; then others than our ranks may need the core
constexpr std::uint32_t roomy_yield_period = 32;
constexpr std::uint32_t yields_before_nap = 2000; // naps starve rails, so only a wait of milliseconds takes them
constexpr long nap_nanoseconds = 50'000;
constexpr std::uint32_t hook_yields = 10;

} // namespace

std::int32_t current_cpu() { return ::sched_getcpu(); }

void Waiter::yield() {
  ++yields_;
  if (yields_ % hook_yields == 0 && hook_.function != nullptr) hook_.function(hook_.state);
  if (yields_ < yields_before_nap) {
    ::sched_yield();
    return;
  }
  const timespec nap{0, nap_nanoseconds};
  ::nanosleep(&nap, nullptr);
  if (hook_.function != nullptr) hook_.function(hook_.state);
}

bool Waiter::should_yield(bool peer_shares_cpu) {
  if (contention_ != nullptr) {
    contention_->step();
    if (contention_->found()) return true; // it may be the peer; nobody can say where that runs
  }
  return crowding_ == Crowding::crowded && (peer_shares_cpu || idle_ >= crowded_spins);
}

void Waiter::step(bool peer_shares_cpu) {
  ++idle_;
  if (should_yield(peer_shares_cpu)) {
    yield();
    return;
  }
  pause();
  if (idle_ >= roomy_spins && idle_ % roomy_yield_period == 0) ::sched_yield();
  if (idle_ % hook_period == 0 && hook_.function != nullptr) hook_.function(hook_.state);
}

} // namespace strata::engine
