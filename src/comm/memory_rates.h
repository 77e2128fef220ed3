// SPDX-License-Identifier: BSD-3-Clause
// What this core copies and reduces, measured in some milliseconds.
#pragma once

#include "kernel/kernel.h"
#include "tune/probe.h"

namespace strata::comm {

/// Sums of two float vectors and copies, by the process' kernels: in buffers that the cache of a core keeps, and in
/// such that none does (as far as so many bytes may be taken): `cache_share` is this core's part of the last cache, 0
/// if it is not known. The time is that of the thread, so that a rank which shares its core is not taken for a slow
/// one. All zeros when there is no memory.
tune::Probe::MemorySample measure_memory(const kernel::Kernels& kernels, std::uint64_t cache_share);

} // namespace strata::comm
