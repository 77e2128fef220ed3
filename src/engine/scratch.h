// SPDX-License-Identifier: BSD-3-Clause
// Private memory of plans for partial results, bounded for the whole process however many communicators there are.
#pragma once

#include "base/result.h"

#include <atomic>
#include <cstddef>
#include <utility>

namespace strata::engine {

/// How much scratch may still be taken. Thread-safe.
class ScratchBudget {
public:
  explicit ScratchBudget(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  bool take(std::size_t bytes);
  void give_back(std::size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }
  std::size_t most_taken() const { return most_taken_.load(std::memory_order_relaxed); }
  std::size_t most_bytes() const { return most_bytes_; }

private:
  std::size_t most_bytes_;
  std::atomic<std::size_t> taken_{0}, most_taken_{0};
};

/// A block of zeroed memory, aligned to a cache line.
class Scratch {
public:
  Scratch() = default;
  /// `budget` may be null, for no bound; else it must outlive the block. The error names the option.
  static Result<Scratch> allocate(ScratchBudget* budget, std::size_t bytes);
  Scratch(Scratch&& other) noexcept { *this = std::move(other); }
  Scratch& operator=(Scratch&& other) noexcept;
  ~Scratch();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

private:
  ScratchBudget* budget_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

} // namespace strata::engine
