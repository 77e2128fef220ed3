// SPDX-License-Identifier: BSD-3-Clause
// The latency path: an exchange of small payloads among all ranks of a node, at the price of one flag.
//
// Every rank owns two slots of two lines, used in turn, and a ring of payloads (and two more slots for payloads that
// share the line of a number, below, and two broad ones, of five lines). For exchange n it writes its payload, into the
// slot n mod 2 if it fits there, else into the next place of the ring, and then the number n into that slot; it reads
// the same places of every peer once the number n stands in the peer's slot. A slot begins with its number; while that
// is looked for, the lines behind it are fetched again and again with it as far as the payload reaches, so that all
// come at once. The loop that does so must be tight: one that found the slot anew for each look took 0.12 us for 64
// bytes instead of 0.08. In us between two near cores of an EPYC of family 25, model 17, 128 bytes in the ring, and in
// a slot: 0.12 0.07; 256 bytes 0.12 0.08; but 300 bytes 0.13 0.16.
//
// Why two slots are enough, without acknowledgements: a rank writes slot n mod 2 again in exchange n + 2, once every
// peer has published n + 1 (it may still read what they sent in n + 1 meanwhile); a peer publishes n + 1 only after it
// has completed n, that is, after its last read of any slot of exchange n. For the same reason two places of payloads
// would do; consecutive ones never overlap, because the ring holds four of the largest, or more. Why: taking a line
// back from a core that has just read it is slower than to go on to one that has left that core's caches (32 KiB
// between two cores: 9.3 us with two places, 5.1 with four, 2.1 with 32; tune::board_ring_bytes says more).
//
// A rank may write the payload of n + 2, too, before it looks for those of n + 1 (class Ahead), so that none waits at
// once when a peer is a little later, which saves 2 to 5% of 128 KiB to 16 MiB between near cores. A peer then looks
// for n + 1, or for n, and finds n + 3, or n + 2: what it waits for has come as well. Who writes n + 2 has completed n,
// so that all have published n, and with that have completed n - 2. What may still be read is n - 1, n and n + 1, which
// with n + 2 takes four places and what is left of the ring where it begins again, less than one more. The two slots
// have no room for that, so such payloads are in the ring.
//
// Behind each place is a gap. A processor that reads a payload line by line seems to fetch what is behind it, too: the
// place that the peer writes next, whose lines have to be taken back from the reader then. (No counter told that, but
// gaps of 0.75 to 3.5 KiB help, and one of 512 bytes hardly.) In us between two cores of an EPYC of family 25, model 1,
// without a gap and with one of half a page; near each other, and far apart:
//     512 B   0.24 0.22   0.68 0.61         2 KiB   0.45 0.35   1.49 1.41          8 KiB    1.02 0.93    2.74 2.57
//     1 KiB   0.32 0.26   1.01 0.87         4 KiB   0.68 0.54   2.42 2.27         64 KiB    5.4  5.4    12.5 12.2
// and near each other on model 17, where one of 1 KiB is up to a seventh slower, and of 4 KiB no better:
//     512 B   0.17 0.13     2 KiB   0.40 0.22     8 KiB   0.74 0.50     1 KiB   0.25 0.16     4 KiB   0.66 0.31
// (Payloads of 1 and 2 KiB in two parts, each behind a number, so that reading begins sooner, are slower with it.)
//
// Peers' memory is mapped at distances of large powers of two. Of lines at the same place in a page there, a core of an
// AMD processor keeps one in its first cache, which finds a line's way by a hash of the address (Lipp et al., "Take A
// Way", AsiaCCS 2020, section 3). So each rank has its slots, its ring and the word that tells its CPU at a place of
// its own, in a page of its own. In us on an EPYC of family 25, all at the same place and each at its own: eight ranks
// on two cores 64 B 7.3 and 6.7, 2 KiB 9.3 and 8.2, 16 KiB 29.5 and 24.2; two with a core each 64 B 0.12 and 0.09, 256
// B 0.16 and 0.15. (Of that, the word of the CPU makes 3%, and the other page 2% of 6 and 16 KiB, which have lines at
// all places in a page.) But where a payload shares the line of its number, and ranks look for it all the time, the
// same place is the better one, for a reason that is not known (8 B between two near cores 0.05 and 0.07, between far
// ones 0.19 and 0.25; mapped one page further 0.25, too).
//
// A line that a core has just written is fetched from that core's own cache, by way of a cache that all share or of
// what keeps account of the lines there. Some processors move it on to the shared cache when asked (CLDEMOTE, Intel
// Architectures Software Developer's Manual, volume 2), and the peer finds it there sooner. In us between two cores of
// an Intel Xeon of the fifth generation, without and with it:
//     128 B   0.27 0.20          512 B   0.40 0.30          2 KiB   0.83 0.67          8 KiB   1.9 2.0
//     256 B   0.32 0.22          1 KiB   0.59 0.47          4 KiB   1.21 1.09         16 KiB   2.7 3.7
// Cores that share nearer caches would lose by it, so it is for whoever measures it.
//
// The numbers are stored with release and loaded with acquire
// order, and a payload is read before the reader's next number is stored with release, so the argument holds on any
// memory model that respects these. (Lamport, "How to make a correct multiprocess program execute correctly on a
// multiprocessor", IEEE ToC 46(7), 1997, gives the form of such proofs.)
#pragma once

#include "base/prefetch.h"
#include "base/rounding.h"
#include "transport/shm/shm_transport.h"

#include <algorithm>
#include <atomic>

namespace strata::transport::shm {

class ParityBoard {
  struct Exchange {
    std::uint64_t number = 0;
    std::size_t place = 0, next_place = 0; ///< in the ring: of this exchange, and behind it and its gap
  };

public:
  /// First step of the set-up: leases the memory, for payloads of up to `most_bytes`. All ranks of the context must be
  /// neighbours, and give the same number of bytes to each exchange. `ring_bytes`: of the ring, if it can be, which is
  /// as long as the shortest rank's then; at least four payloads, and no more where an eighth of the segment is leased.
  /// `shares_core`: the rank does not look for numbers all the time, because others need its core.
  static Result<std::unique_ptr<ParityBoard>> prepare(std::shared_ptr<const Neighbours> neighbours,
                                                      std::size_t most_bytes, std::size_t ring_bytes, bool shares_core);
  ~ParityBoard();

  /// Where the memory is, how long the ring may be, and whether the rank shares its core.
  std::uint64_t announcement() const {
    return offset_ | log_places_ << log_places_shift | (shares_core_ ? shares_core_flag : 0);
  }
  Status connect(std::span<const std::uint64_t> announcements);

  std::size_t most_bytes() const { return most_bytes_; }
  std::size_t ranks() const { return wide_.size(); }
  /// Once connected: bytes of each rank's ring, without the gaps.
  std::size_t ring_bytes() const { return lines(most_bytes_) << log_places_; }
  /// From the next exchange on uses so many bytes of it, all of it at most, and four of the largest payload at least.
  /// All ranks do the same, and none has published what has not begun.
  void use_ring(std::size_t bytes) {
    const std::size_t places = bytes / lines(most_bytes_);
    room_ = std::clamp(places * place_bytes(), room_of_ring(fewest_log_places), room_of_ring(log_places_));
  }

  /// Begins the next exchange: where this rank's `bytes` of payload are to be written. All payloads of the current one
  /// must have arrived; they can be read until publish().
  void* begin(std::size_t bytes) { return begin(now_, bytes); }
  /// Makes them visible.
  void publish(std::size_t bytes) { publish(now_, bytes); }
  /// Behind publish(): moves the lines of this exchange on to a cache that the peers' cores share, if there is one. A
  /// hint to the processor; it changes no bit.
  void demote(std::size_t bytes) const { demote(now_, bytes); }
  /// Payloads of exchanges that have not begun: of those behind the current one when it was made. Each must be in the
  /// ring (least_ahead bytes, and if need be room that is not used), be published once the exchange most_ahead before
  /// it is complete and all of that have been read, and be begun later with as many bytes. The ring that is in use has
  /// room for least_places_ahead or more of the longest one, or no exchange but the next one is published ahead.
  class Ahead {
  public:
    explicit Ahead(const ParityBoard& board) : board_(board), at_(board.now_) {}
    void* begin(std::size_t bytes) { return board_.begin(at_, bytes); }
    void publish(std::size_t bytes) const { board_.publish(at_, bytes); }
    void demote(std::size_t bytes) const { board_.demote(at_, bytes); }

  private:
    const ParityBoard& board_;
    Exchange at_;
  };
  static constexpr std::size_t most_ahead = 2, least_places_ahead = 5, least_ahead = 257;
  /// Whether this processor follows that hint.
  static bool can_demote();
  /// `rank`'s payload in the current exchange, or null while it has not come.
  const void* arrived(std::size_t rank, std::size_t bytes) const {
    const std::uint64_t there = sequence(now_, rank, bytes).load(std::memory_order_acquire);
    return there >= now_.number ? payload(now_, rank, bytes) : nullptr;
  }
  /// Whether a payload is in a slot of several lines.
  static constexpr bool is_wide(std::size_t bytes) { return fits_in_slot(bytes) && !is_narrow(bytes); }
  /// The same for a wide one, of which `slot` is what slot_of() gives, whose lines behind the first are fetched before
  /// the look, so that all come at once.
  const void* arrived_in(const std::byte* slot, std::size_t bytes) const {
    __builtin_prefetch(slot + line_bytes);
    for (std::size_t i = 2 * line_bytes; i < bytes_with_number(bytes); i += line_bytes)
      __builtin_prefetch(slot + i);
    const auto& number = *reinterpret_cast<const std::atomic<std::uint64_t>*>(slot);
    return number.load(std::memory_order_acquire) >= now_.number ? slot + sizeof number : nullptr;
  }
  /// Where `rank`'s wide payload of the current exchange will be.
  const std::byte* slot_of(std::size_t rank, std::size_t bytes) const { return slot(rank, bytes, now_.number); }
  /// Once all have arrived: takes the lines of the next exchange's slot back from the peers' caches, while this rank is
  /// still busy with its result. The peers have read them: who has published this exchange has completed the one
  /// before.
  void take_back_next(std::size_t bytes) const {
    // A core has ten to two dozen lines under way at once, and the reduction needs them: with 64 of them taken back
    // here, 4 KiB took 0.40 us instead of 0.25 between two cores where plain copies take 0.23 us. All of a payload of
    // 1 KiB: between cores of an EPYC of family 25, model 17, that share no cache, 0.66 us instead of 0.75, near each
    // other 0.161 instead of 0.155; of 768 bytes 0.67 instead of 0.72, and 0.143 instead of 0.146.
    constexpr std::size_t most_whole = 1024, most_of_longer = 512;
    const std::size_t most = bytes <= most_whole ? bytes : most_of_longer;
    const std::byte* next_slot = slot(self_, bytes, now_.number + 1);
    prefetch_to_write(next_slot);
    if (fits_in_slot(bytes)) {
      for (std::size_t i = line_bytes; i < bytes_with_number(bytes); i += line_bytes)
        prefetch_to_write(next_slot + i);
      return;
    }
    const std::byte* next = wide_[self_] + ring_offset + place_behind(now_, bytes);
    for (std::size_t i = 0; i < most; i += line_bytes)
      prefetch_to_write(next + i);
  }
  /// The CPU that `rank` was last seen on: a rank that waits yields when it shares that CPU. -1: this rank, or not
  /// known.
  std::int32_t cpu_of(std::size_t rank) const { return rank == self_ ? -1 : cpu(rank).load(std::memory_order_relaxed); }
  /// Where this rank is now.
  void is_seen_on(std::int32_t now) {
    if (cpu(self_).load(std::memory_order_relaxed) != now) cpu(self_).store(now, std::memory_order_relaxed);
  }

  void depart();
  bool quiescent() const;

private:
  static void demote_line([[maybe_unused]] const void* line) {
#if defined(__x86_64__)
    __asm__ volatile("cldemote %0" : : "m"(*static_cast<const char*>(line)));
#endif
  }
  ParityBoard(std::shared_ptr<const Neighbours> neighbours, std::size_t most_bytes, bool shares_core);
  Status lease_for(std::size_t ring_bytes);

  static constexpr std::uint64_t fewest_log_places = 2, most_log_places = 16;
  static constexpr std::size_t slot_bytes = 2 * line_bytes, broad_slot_bytes = 5 * line_bytes;
  static constexpr std::size_t gap_bytes = 2048;   ///< behind each place of the ring
  static constexpr std::size_t most_in_slot = 256; ///< of a payload
  static_assert(least_ahead > most_in_slot);
  // The memory of a rank: the line of departures, two slots at the same place on all ranks, and what each has at its
  // own place: two slots, the word of its CPU, two broad slots, and the ring.
  static constexpr std::size_t narrow_offset = line_bytes, own_place_offset = narrow_offset + 2 * slot_bytes;
  static constexpr std::size_t cpu_offset = 2 * slot_bytes, broad_offset = cpu_offset + line_bytes;
  static constexpr std::size_t ring_offset = broad_offset + 2 * broad_slot_bytes;
  /// From one rank's place to the next one's: into another page, and there behind what is before the ring.
  static constexpr std::size_t distance = 4096 + ring_offset, different_places = 16;
  // An announcement is a multiple of a line, with these in the bits that this leaves:
  static constexpr std::uint64_t shares_core_flag = 1, log_places_shift = 1, log_places_mask = 0x1f;
  static constexpr std::size_t place_of(std::size_t rank) {
    return own_place_offset + rank % different_places * distance;
  }
  std::size_t place_bytes() const { return lines(most_bytes_) + gap_bytes; }
  std::size_t room_of_ring(std::uint64_t log_places) const { return place_bytes() << log_places; }
  /// Of all of a rank's memory.
  std::size_t bytes_with(std::uint64_t log_places) const;
  static constexpr std::size_t bytes_with_number(std::size_t bytes) { return bytes + sizeof(std::uint64_t); }
  static constexpr bool fits_in_slot(std::size_t bytes) { return bytes <= most_in_slot; }
  /// Whether a payload shares the line of its number, and whether it is longer than the slots of two lines.
  static constexpr bool is_narrow(std::size_t bytes) { return bytes_with_number(bytes) <= line_bytes; }
  static constexpr bool is_broad(std::size_t bytes) { return bytes_with_number(bytes) > slot_bytes; }
  static constexpr std::size_t lines(std::size_t bytes) { return rounded_up(bytes, line_bytes); }
  std::size_t place_behind(const Exchange& last, std::size_t bytes) const {
    return last.next_place + lines(bytes) <= room_ ? last.next_place : 0;
  }
  std::byte* slot(std::size_t rank, std::size_t bytes, std::uint64_t number) const {
    if (is_narrow(bytes)) return narrow_[rank] + slot_bytes * (number & 1);
    if (is_broad(bytes) && fits_in_slot(bytes)) return wide_[rank] + broad_offset + broad_slot_bytes * (number & 1);
    return wide_[rank] + slot_bytes * (number & 1);
  }
  std::atomic<std::uint64_t>& sequence(const Exchange& at, std::size_t rank, std::size_t bytes) const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(slot(rank, bytes, at.number));
  }
  // A payload that fits shares the line of its number: one transfer between caches, or two at once.
  void* payload(const Exchange& at, std::size_t rank, std::size_t bytes) const {
    return fits_in_slot(bytes) ? slot(rank, bytes, at.number) + sizeof(std::uint64_t)
                               : wide_[rank] + ring_offset + at.place;
  }
  void* begin(Exchange& at, std::size_t bytes) const {
    ++at.number;
    if (!fits_in_slot(bytes)) {
      at.place = place_behind(at, bytes);
      at.next_place = at.place + lines(bytes) + gap_bytes;
    }
    return payload(at, self_, bytes);
  }
  void publish(const Exchange& at, std::size_t bytes) const {
    sequence(at, self_, bytes).store(at.number, std::memory_order_release);
  }
  void demote(const Exchange& at, std::size_t bytes) const {
    const std::byte* own = slot(self_, bytes, at.number);
    demote_line(own);
    if (fits_in_slot(bytes)) {
      for (std::size_t i = line_bytes; i < bytes_with_number(bytes); i += line_bytes)
        demote_line(own + i);
      return;
    }
    for (std::size_t i = 0; i < bytes; i += line_bytes)
      demote_line(wide_[self_] + ring_offset + at.place + i);
  }
  std::atomic<std::int32_t>& cpu(std::size_t rank) const {
    return *reinterpret_cast<std::atomic<std::int32_t>*>(wide_[rank] + cpu_offset);
  }
  std::atomic<std::uint32_t>& departed(std::size_t rank) const {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(wide_[rank] - place_of(rank));
  }

  std::shared_ptr<const Neighbours> neighbours_;
  std::size_t most_bytes_;
  std::size_t self_;
  bool shares_core_;
  bool connected_ = false;
  std::uint64_t log_places_ = fewest_log_places; ///< of the largest payload, in the ring: a power of two
  std::size_t room_ = 0;                         ///< of the ring, that is in use
  Exchange now_;
  std::uint64_t offset_ = 0;
  std::size_t leased_ = 0;
  std::vector<std::byte*> narrow_, wide_; ///< the slots of payloads that are narrow, and of all others; by rank
};

} // namespace strata::transport::shm
