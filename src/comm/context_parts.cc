// SPDX-License-Identifier: BSD-3-Clause
// A long vector on the latency path: a reduce-scatter and an all-gather by direct exchange, each piece by piece, and
// both at once (Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, section 4, has the
// decomposition).
//
// Each rank reduces a part of the vector and hands the results to the others. What it publishes for exchange k is a
// piece of everybody else's part of its own vector, the k-th, and, where its own would be, the results of the piece of
// its part that came two exchanges before. So one exchange carries both ways, two of them are ahead of what is read, as
// with any vector in pieces (transport/shm/parity_board.h), and there are two more exchanges than pieces. A rank does
// all that it has to do for one exchange in one loop (kernel::Beside): it reduces, writes the results where it wants
// them and where its peers read them, copies the piece behind the next one, and the results of others.
//
// Of S bytes among n ranks a rank reads S (n-1)/n to publish it, S to reduce, and S (n-1)/n of results, and writes 2 S.
// Where each rank reduces all of the vector, it reads S + n S, and writes 2 S. In us, so, and in parts, on two cores of
// an EPYC of family 25, model 17, near each other (through the caches; of 8 MiB and more, results around them), and far
// apart (published around the caches):
//                          128 KiB      512 KiB       2 MiB         8 MiB         32 MiB           64 MiB
//    2 ranks              7.5  7.0    31.3  27.5    122  106                    4190  3840       8060  7560
//    4 ranks             37.5 24.1     158    89    613  455    3270  2290                     24500 19650
//    2, far apart                     68.6  53.2    261  200    1200   888    5770  4730
//    4, far apart                      233   137    989  624    5100  3690   20100 16150
// Where payloads and results both go around the caches, it takes up to three times as long between cores that are far
// apart (two ranks, 512 KiB 64 and 188; four streams of such stores seem to be too many), and with two ranks where
// results alone do, a tenth longer up to 8 MiB.
#include "comm/context.h"

#include "comm/vector_in_parts.h"

#include <cstring>

namespace strata::comm {

namespace {

/// A rank whose vector turns out to be in device memory takes as much memory of the host for it.
constexpr std::size_t most_where_devices_are = std::size_t{64} << 20;
/// Where results go around the caches, and each rank has a core.
constexpr std::size_t least_around = std::size_t{16} << 20;

/// Copies around the caches begin at a line, if they are to go on beside something else.
std::size_t bytes_to_line(const void* to) {
  constexpr std::size_t line_bytes = 64;
  return rounded_up(reinterpret_cast<std::uintptr_t>(to), line_bytes) - reinterpret_cast<std::uintptr_t>(to);
}

} // namespace

/// Whether a vector of `whole` bytes that goes in pieces is reduced in parts; the same on all ranks. Where some are
/// known to have theirs in device memory, these fetch the next piece while one is exchanged, which is what takes long.
bool Context::is_in_parts(std::size_t whole, kernel::Stores stores) const {
  if (situation_.on_devices || (device_use_.possible && whole > most_where_devices_are)) return false;
  if (stores.result == kernel::Store::streaming) {
    if (stores.publish == kernel::Store::streaming) return false;
    if (crowding_ != engine::Crowding::crowded && whole < least_around) return false;
  }
  return most_of_parts(whole) > 0;
}

/// Bytes of each part that are exchanged at once; 0: too few to be worth it.
std::size_t Context::most_of_parts(std::size_t whole) const {
  const bool crowded = crowding_ == engine::Crowding::crowded;
  return tune::board_piece_of_parts(ranks_, board_->ring_bytes(), whole, crowded);
}

/// Adds to copies_ what publishes this rank's pieces of the others' parts at `to`. Each rank begins with another
/// peer's.
void Context::add_inputs(const VectorInParts& parts, std::size_t step, const std::byte* input, std::byte* to,
                         kernel::Store publish) {
  const auto ranks = static_cast<std::size_t>(ranks_), self = static_cast<std::size_t>(rank_);
  for (std::size_t i = 1; i < ranks; ++i) {
    const std::size_t rank = (self + i) % ranks;
    const std::size_t bytes = parts.bytes_of(rank, step);
    if (bytes > 0)
      copies_.push_back(
          {to + rank * parts.piece(), input + parts.begin_of(rank, step), bytes, kernel::store_to_publish(publish)});
  }
}

/// Adds what takes the peers' results out of operands_ of the current exchange.
void Context::add_results(const VectorInParts& parts, std::size_t step, std::byte* output, kernel::Store store) {
  const auto ranks = static_cast<std::size_t>(ranks_), self = static_cast<std::size_t>(rank_);
  for (std::size_t i = 1; i < ranks; ++i) {
    const std::size_t rank = (self + i) % ranks, bytes = parts.bytes_of(rank, step);
    const auto* const from = static_cast<const std::byte*>(operands_[rank]) + rank * parts.piece();
    std::byte* const to = output + parts.begin_of(rank, step);
    const std::size_t head = store == kernel::Store::streaming ? std::min(bytes, bytes_to_line(to)) : 0;
    if (head > 0) std::memcpy(to, from, head);
    if (bytes > head) copies_.push_back({to + head, from + head, bytes - head, store});
  }
}

void Context::make_copies() const {
  for (const kernel::Copy& copy : copies_)
    process_.kernels().copy(copy.to, copy.from, copy.bytes, copy.store);
}

/// False when a peer is gone.
bool Context::exchange_parts_on_board(const Call& call, const kernel::Reducer& reduction, kernel::Stores stores) {
  constexpr std::size_t ahead = transport::shm::ParityBoard::most_ahead;
  transport::shm::ParityBoard& board = *board_;
  const auto ranks = static_cast<std::size_t>(ranks_), self = static_cast<std::size_t>(rank_);
  const std::size_t whole = static_cast<std::size_t>(call.elements) * reduction.element_bytes;
  const auto* input = static_cast<const std::byte*>(call.input);
  auto* output = static_cast<std::byte*>(call.output);
  const VectorInParts parts(whole, reduction.element_bytes, ranks, most_of_parts(whole));
  const std::size_t steps = parts.steps(), piece = parts.piece(), room = ranks * piece;
  board.use_ring(ring_on_board(whole));
  transport::shm::ParityBoard::Ahead next(board);
  const auto publish = [&] {
    next.publish(room);
    if (stores.publish == kernel::Store::demoted) next.demote(room);
  };
  for (std::size_t step = 0; step < ahead; ++step) {
    copies_.clear();
    add_inputs(parts, step, input, static_cast<std::byte*>(next.begin(room)), stores.publish);
    make_copies();
    publish();
  }
  for (std::size_t step = 0; step < steps + ahead; ++step) {
    board.begin(room);
    if (!await_pieces(input + parts.begin_of(self, step), room)) return false;
    copies_.clear();
    if (step >= ahead) add_results(parts, step - ahead, output, stores.result);
    if (step >= steps) {
      make_copies();
      continue;
    }
    auto* const to = static_cast<std::byte*>(next.begin(room));
    add_inputs(parts, step + ahead, input, to, stores.publish);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (rank != self) operands_[rank] = static_cast<const std::byte*>(operands_[rank]) + self * piece;
    kernel::Beside beside;
    beside.copies = copies_;
    beside.also = to + self * piece;
    beside.also_store = kernel::store_to_publish(stores.publish);
    reduction.function(output + parts.begin_of(self, step), operands_.data(), ranks,
                       parts.bytes_of(self, step) / reduction.element_bytes, stores.result, &beside);
    publish();
  }
  board.use_ring(board.ring_bytes());
  return true;
}

} // namespace strata::comm
