// SPDX-License-Identifier: BSD-3-Clause
// Counts what the calling thread allocates with operator new, and has it fail.
#pragma once

#include <cstdint>

namespace strata::allocations {

std::uint64_t of_this_thread();
/// All that it ever asked for, in bytes, freed or not.
std::uint64_t bytes_of_this_thread();
/// The calling thread gets no memory while it holds one, after so many allocations that it still gets.
class Shortage {
public:
  enum class Lasts { one_time, to_its_end };
  explicit Shortage(std::uint64_t allocations_before, Lasts lasts);
  ~Shortage();
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
  /// Whether there was an allocation that failed.
  static bool was_felt();

  /// None while this one is there.
  class Pause {
  public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

  private:
    bool was_short_;
  };
};

} // namespace strata::allocations
