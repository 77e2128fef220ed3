// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new and delete in the test program. The other forms end in these.
#include "allocations.h"

#include <cstdlib>
#include <new>
#include <utility>

namespace {

thread_local std::uint64_t allocations_of_thread = 0, bytes_of_thread = 0;

/// Of a Shortage: allocations until it begins, whether it is over after one, and whether it has begun.
thread_local bool short_of_memory = false, short_once = false, felt = false;
thread_local std::uint64_t allocations_before = 0;

bool fails() {
  if (!short_of_memory || allocations_before-- > 0) return false;
  allocations_before = 0;
  felt = true;
  short_of_memory = !short_once;
  return true;
}

void* allocate(std::size_t bytes) {
  if (fails()) return nullptr;
  ++allocations_of_thread;
  bytes_of_thread += bytes;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

} // namespace

std::uint64_t strata::allocations::of_this_thread() { return allocations_of_thread; }
std::uint64_t strata::allocations::bytes_of_this_thread() { return bytes_of_thread; }

strata::allocations::Shortage::Shortage(std::uint64_t allocations, Lasts lasts) {
  allocations_before = allocations;
  short_once = lasts == Lasts::one_time;
  felt = false;
  short_of_memory = true;
}
strata::allocations::Shortage::~Shortage() { short_of_memory = false; }
bool strata::allocations::Shortage::was_felt() { return felt; }
strata::allocations::Shortage::Pause::Pause() : was_short_(std::exchange(short_of_memory, false)) {}
strata::allocations::Shortage::Pause::~Pause() { short_of_memory = was_short_; }

void* operator new(std::size_t bytes) {
  if (void* memory = allocate(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
