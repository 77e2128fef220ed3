// SPDX-License-Identifier: BSD-3-Clause
// How the latency path of a node uses its memory (transport/shm/parity_board.h): rules that all ranks follow alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace strata::tune {

/// Most bytes that go through the latency path at once; longer vectors do piece by piece. Of many ranks that share
/// their cores, what all of them write (four pieces each) is to stay in the caches of these.
constexpr std::size_t board_piece_bytes(std::int32_t ranks) {
  return (ranks <= 4 ? std::size_t{64} : std::size_t{32}) << 10;
}
/// Bytes of a rank's ring there, where each rank's core has a cache of `core_cache` bytes of its own; of 0, as few as
/// the ring needs. To take a line out of another core's own cache, and to have it given up there before it is written
/// again, is slower than to find it in a cache that both share. What is in all ranks' rings goes through a core's cache
/// before a line is written again: four times as much as it holds leaves no line there. In us between two cores of an
/// EPYC of family 25 (1 MiB each, and a shared cache), with rings of 1/4, 1, 2 and 4 MiB:
///     8 KiB   1.28 0.99 0.80 0.79      32 KiB   5.1 3.3 2.1 2.2       128 KiB   17.7 11.4 8.9 9.0
///    16 KiB   2.60 1.80 1.28           64 KiB  10.5 6.4 4.4 4.4       256 KiB             16.7 16.8
/// Without a shared cache a tenth to a fifth is saved (32 KiB: 21 and 17.5 us). Ranks that share cores gain as much by
/// vectors in parts, and lose nothing by others: on those two cores, four ranks with rings of 1/2, 1 and 2 MiB, 32 KiB
/// 16.8 16.7 16.8, 128 KiB 28 24 23, 512 KiB 100 89 86, 2 MiB 465 455 441.
constexpr std::size_t board_ring_bytes(std::int32_t ranks, std::uint64_t core_cache) {
  constexpr std::uint64_t most = std::uint64_t{4} << 20;
  return std::min(most, 4 * core_cache / static_cast<std::uint64_t>(ranks));
}
/// How much of a ring that was made by that rule, for ranks that do not share cores, a vector of so many bytes uses.
/// One that does not stay in a core's cache together with its result drives lines of the rings out of it as well, so
/// that a shorter ring does, and leaves more of a shared cache to others. Between the same two cores, in us, with 1/2,
/// 1, 1 1/4, and all of 2 MiB:
///   128 KiB   18.8 10.5  8.9  8.7        1 MiB   82.6  64.5  63.7  64.2          4 MiB    335 274 274 294
///   512 KiB   42.7 33.6 32.5 34.6        2 MiB    165   130   130   136          6 MiB    570 484 504 524
constexpr std::size_t board_ring_in_use(std::int32_t ranks, std::size_t ring_bytes, std::size_t bytes) {
  const std::size_t core_cache = ring_bytes * static_cast<std::size_t>(ranks) / 4;
  return 2 * bytes < core_cache ? ring_bytes : ring_bytes / 8 * 5;
}
/// Of a vector of so many bytes in parts, how many bytes of each part an exchange carries at most; 0: too few of them
/// for it to be worth it. What it carries of all parts is an eighth of the ring, of which five are room enough, and the
/// rest is for what passes by. Ranks that have a core each are to have about four exchanges, so that reading and
/// writing overlap; where they share cores, fewer changes between them are worth more than that. In us between the same
/// two cores, with 32, 64, 128 and 256 KiB at once: 128 KiB 7.0 8.5 7.0 6.7 (the last two are one exchange), 256 KiB
/// 13.9 13.7 14.7 13.6, 512 KiB 28.7 27.8 27.5 27.2, 2 MiB (from 128 KiB on) 107 106; four ranks 128
/// KiB 26.5 23.9 24.1.
constexpr std::size_t board_piece_of_parts(std::int32_t ranks, std::size_t ring_bytes, std::size_t bytes,
                                           bool crowded) {
  constexpr std::size_t least = std::size_t{2} << 10, least_at_once = std::size_t{32} << 10;
  const std::size_t most = ring_bytes / 8;
  const std::size_t at_once = crowded ? most : std::clamp(bytes / 4, std::min(least_at_once, most), most);
  const std::size_t piece = at_once / static_cast<std::size_t>(ranks);
  return piece < least ? 0 : piece;
}

} // namespace strata::tune
