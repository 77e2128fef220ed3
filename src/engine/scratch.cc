// SPDX-License-Identifier: BSD-3-Clause
#include "engine/scratch.h"

#include "base/address_space.h"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <utility>

namespace strata::engine {
namespace {

constexpr std::align_val_t line{64};

} // namespace

bool ScratchBudget::take(std::size_t bytes) {
  std::size_t taken = taken_.load(std::memory_order_relaxed);
  do {
    if (bytes > most_bytes_ || taken > most_bytes_ - bytes) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  std::size_t most = most_taken();
  while (most < taken + bytes && !most_taken_.compare_exchange_weak(most, taken + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

Result<Scratch> Scratch::allocate(ScratchBudget* budget, std::size_t bytes) {
  Scratch scratch;
  if (bytes == 0) return scratch;
  if (const Status may = may_map(bytes, "scratch"); !may) return may.error();
  if (budget != nullptr && !budget->take(bytes))
    return Error{ErrorKind::resource, fmt::format("no {} bytes of scratch left of {} (STRATA_SCRATCH), {} are in use",
                                                  bytes, budget->most_bytes(), budget->taken())};
  scratch.budget_ = budget;
  scratch.bytes_ = bytes;
  scratch.data_ = static_cast<std::byte*>(::operator new(bytes, line, std::nothrow));
  if (scratch.data_ == nullptr)
    return Error{ErrorKind::resource, fmt::format("no memory for {} bytes of scratch", bytes)};
  std::memset(scratch.data_, 0, bytes); // the first call is not to pay for the page faults
  return scratch;
}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Scratch::~Scratch() {
  ::operator delete(data_, line);
  if (budget_ != nullptr) budget_->give_back(bytes_);
}

} // namespace strata::engine
