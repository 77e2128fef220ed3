// SPDX-License-Identifier: BSD-3-Clause
// Pairs of words in pinned memory, one for each call that is in a stream of the program: the stream says in the first
// that it is there, and waits for the second.
#pragma once

#include "device/driver.h"

#include <cstdint>
#include <mutex>
#include <vector>

namespace strata::comm {

/// Thread-safe. Its memory stays until the process ends: a stream may look at a word some time after it was set.
class StreamWords {
public:
  struct Pair {
    std::uint32_t* arrived = nullptr;  ///< becomes `number` when the stream is there
    std::uint32_t* finished = nullptr; ///< lets the stream go on when it becomes `number`
    std::uint32_t number = 0;          ///< one that this pair has not had for a long time
  };

  explicit StreamWords(device::Driver& driver) : driver_(driver) {}

  /// Waits for no stream. Errors: the driver's, for pinned memory.
  Result<Pair> take();
  /// When the stream was there, and `finished` has been set.
  void give_back(const Pair& pair);

private:
  Status grow();

  device::Driver& driver_;
  std::mutex mutex_;
  std::vector<Pair> free_;
  std::size_t pairs_ = 0; ///< taken and free
};

} // namespace strata::comm
