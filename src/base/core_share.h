// SPDX-License-Identifier: BSD-3-Clause
// Whether processes that compute at the same time have cores enough. A launcher may bind each to a core of its own, all
// to the same few, or none, and control groups may leave them less.
#pragma once

#include <cstdint>
#include <span>

namespace strata {

/// What a process may use of its machine. Plain bytes, to be sent to others.
struct CoreShare {
  std::uint64_t mask = 0;    ///< the same number for processes with the same affinity mask, another one for others
  std::uint32_t threads = 1; ///< hardware threads in that mask
  std::uint32_t quota = 0;   ///< hardware threads that control groups leave it, rounded up; 0: all
  std::uint32_t machine = 1; ///< hardware threads of the machine
};

/// Of this process, by the mask of its main thread.
CoreShare core_share();

/// How many of these processes of one machine can compute at the same time, if there are enough of them: the hardware
/// threads of all their masks, which are taken to be equal or to have none in common, but not more than the machine
/// has, nor than a quota leaves, which is taken to be one that they share. Where a mask has more processes than
/// threads, all of them wait for those, so it is fewer by that factor. At least 1.
std::uint32_t cores_together(std::span<const CoreShare> processes);

} // namespace strata
