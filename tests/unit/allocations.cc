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

bool count(std::size_t bytes) {
  if (fails()) return false;
  ++allocations_of_thread;
  bytes_of_thread += bytes;
  return true;
}

void* allocate(std::size_t bytes) { return count(bytes) ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr; }

void* allocate(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  const bool is_there = count(bytes) && posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) == 0;
  return is_there ? memory : nullptr;
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
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
