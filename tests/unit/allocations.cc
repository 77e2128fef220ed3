// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new and delete in the test program. The other forms end in these.
#include "allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t allocations_of_thread = 0, bytes_of_thread = 0;

void* allocate(std::size_t bytes) {
  ++allocations_of_thread;
  bytes_of_thread += bytes;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

} // namespace

std::uint64_t strata::allocations::of_this_thread() { return allocations_of_thread; }
std::uint64_t strata::allocations::bytes_of_this_thread() { return bytes_of_thread; }

void* operator new(std::size_t bytes) {
  if (void* memory = allocate(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
