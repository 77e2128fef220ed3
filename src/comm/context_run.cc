// SPDX-License-Identifier: BSD-3-Clause
// Running calls. Nothing here allocates, locks or looks up a string once a size class has been decided, but for the
// rare call that measures the links or looks whether they have changed.
#include "comm/context.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace strata::comm {
namespace {

// Looks before a wait is worth setting up, the first without a pause between them, which may take 140 cycles (Intel
// since Skylake); with more ranks than cores, the peer may need this very core at once.
constexpr std::uint32_t eager_looks = 24;
constexpr std::uint32_t first_looks = 80;
constexpr std::uint32_t first_looks_crowded = 4;

/// A vector that is published piece by piece, each before its exchange begins.
class PiecesAhead {
public:
  using Board = transport::shm::ParityBoard;
  PiecesAhead(const Board& board, std::span<const std::byte> vector, std::size_t piece, kernel::Store store)
      : ahead_(board), left_(vector), piece_(piece), store_(store) {}

  /// Of pieces, where so much of the ring is in use.
  static std::size_t number_of(std::size_t piece, std::size_t ring_bytes) {
    return ring_bytes >= Board::least_places_ahead * piece ? Board::most_ahead : 1;
  }
  /// What an exchange of so many bytes is to be taken for.
  static std::size_t room_for(std::size_t bytes) { return std::max(bytes, Board::least_ahead); }

  /// The copy that publishes the next piece; of nothing when all are. The last one must have been published.
  kernel::Copy next() {
    kernel::Copy copy;
    copy.bytes = current_ = std::min(piece_, left_.size());
    if (current_ == 0) return copy;
    copy.to = ahead_.begin(room_for(current_));
    copy.from = left_.data();
    copy.store = kernel::store_to_publish(store_);
    left_ = left_.subspan(current_);
    return copy;
  }
  /// What is fetched meanwhile; null: nothing. Where payloads go to memory as well, it has no time for that.
  const void* fetched() const {
    return current_ == 0 || left_.empty() || store_ == kernel::Store::streaming ? nullptr : left_.data();
  }
  /// Once that is done.
  void publish() const {
    if (current_ == 0) return;
    ahead_.publish(room_for(current_));
    if (store_ == kernel::Store::demoted) ahead_.demote(room_for(current_));
  }

private:
  Board::Ahead ahead_;
  std::span<const std::byte> left_;
  std::size_t piece_, current_ = 0;
  kernel::Store store_;
};

} // namespace

kernel::Reducer Context::reducer(const Call& call) const {
  return {process_.kernels().find(call.element, call.operation), type::bytes_of(call.element)};
}

/// The rank's payload; null when it will never come.
const void* Context::await(std::size_t rank, std::size_t bytes) {
  const transport::shm::ParityBoard& board = *board_;
  const std::uint32_t looks = crowding_ == engine::Crowding::crowded ? first_looks_crowded : first_looks;
  for (std::uint32_t look = 0; look < looks; ++look) {
    if (const void* payload = board.arrived(rank, bytes)) return payload;
    if (look >= eager_looks) engine::pause();
  }
  return await_long(rank, bytes);
}

/// Likewise, of a payload in several lines of a slot. A function of its own: another condition in the loop above took 8
/// ns of 60 from payloads of 8 to 56 bytes.
const void* Context::await_wide(std::size_t rank, std::size_t bytes) {
  const transport::shm::ParityBoard& board = *board_;
  const std::uint32_t looks = crowding_ == engine::Crowding::crowded ? first_looks_crowded : first_looks;
  const std::byte* const slot = board.slot_of(rank, bytes);
  for (std::uint32_t look = 0; look < looks; ++look) {
    if (const void* payload = board.arrived_in(slot, bytes)) return payload;
    if (look >= eager_looks) engine::pause();
  }
  return await_long(rank, bytes);
}

/// Whether a rank that this exchange still waits for was last seen on `cpu`: then only giving it up brings the exchange
/// further, for it may be what the awaited rank waits for.
bool Context::is_needed_here(std::int32_t cpu, std::size_t bytes) const {
  for (std::size_t rank = 0; rank < board_->ranks(); ++rank)
    if (board_->cpu_of(rank) == cpu && board_->arrived(rank, bytes) == nullptr) return true;
  return false;
}

const void* Context::await_long(std::size_t rank, std::size_t bytes) {
  transport::shm::ParityBoard& board = *board_;
  const bool crowded = crowding_ == engine::Crowding::crowded;
  waiting_bytes_ = bytes;
  engine::Waiter waiter(watch_.begin(*this), crowding_);
  for (;;) {
    const std::int32_t cpu = engine::current_cpu();
    board.is_seen_on(cpu);
    const bool shares = crowded && is_needed_here(cpu, bytes);
    for (int i = 0; i < (shares ? 1 : 16); ++i) {
      if (const void* payload = board.arrived(rank, bytes)) {
        watch_.end();
        return payload;
      }
      waiter.step(shares);
    }
    if (watch_.hopeless()) return nullptr;
  }
}

/// Writes this rank's payload of the next exchange where its peers read it.
inline void Context::publish_on_board(const std::byte* input, std::size_t bytes, kernel::Store store) {
  transport::shm::ParityBoard& board = *board_;
  void* slot = board.begin(bytes);
  if (bytes < kernel::least_shared && store != kernel::Store::streaming) [[likely]]
    std::memcpy(slot, input, bytes);
  else
    process_.kernels().copy(slot, input, bytes, kernel::store_to_publish(store));
  board.publish(bytes);
  if (store == kernel::Store::demoted) board.demote(bytes);
}

/// operands_ of the current exchange, of which this rank's is `input`. False when a peer is gone.
inline bool Context::await_operands(const std::byte* input, std::size_t bytes) {
  const auto count = static_cast<std::size_t>(ranks_);
  const auto self = static_cast<std::size_t>(rank_);
  const bool is_wide = board_->is_wide(bytes);
  for (std::size_t rank = 0; rank < count; ++rank) {
    operands_[rank] = rank == self ? input : is_wide ? await_wide(rank, bytes) : await(rank, bytes);
    if (operands_[rank] == nullptr) [[unlikely]]
      return false;
  }
  return true;
}

/// The same for other files; above it is compiled into the loops of this one.
bool Context::await_pieces(const std::byte* input, std::size_t bytes) { return await_operands(input, bytes); }

/// A vector that one exchange can carry. False when a peer is gone.
bool Context::exchange_on_board(const Call& call, const kernel::Reducer& reduction, kernel::Stores stores) {
  const auto elements = static_cast<std::size_t>(call.elements);
  const std::size_t bytes = elements * reduction.element_bytes;
  const auto* input = static_cast<const std::byte*>(call.input);
  publish_on_board(input, bytes, stores.publish);
  if (!await_operands(input, bytes)) return false;
  board_->take_back_next(bytes);
  reduction.function(call.output, operands_.data(), static_cast<std::size_t>(ranks_), elements, stores.result, nullptr);
  return true;
}

/// How much of the ring a vector of `whole` bytes in pieces uses. Neither this nor is_in_parts() may depend on where a
/// rank has its vector, or on anything else that is not the same on all.
std::size_t Context::ring_on_board(std::size_t whole) const {
  const std::size_t all = board_->ring_bytes();
  return crowding_ == engine::Crowding::crowded ? all : tune::board_ring_in_use(ranks_, all, whole);
}

/// One piece of a longer vector, by itself. The ring is that of the vector. False when a peer is gone.
bool Context::exchange_piece_on_board(const Call& piece, const kernel::Reducer& reduction, kernel::Stores stores) {
  const auto elements = static_cast<std::size_t>(piece.elements);
  const std::size_t bytes = elements * reduction.element_bytes, room = PiecesAhead::room_for(bytes);
  const auto* input = static_cast<const std::byte*>(piece.input);
  PiecesAhead only(*board_, {input, bytes}, bytes, stores.publish);
  const kernel::Copy copy = only.next();
  process_.kernels().copy(copy.to, copy.from, copy.bytes, copy.store);
  only.publish();
  board_->begin(room);
  if (!await_operands(input, room)) return false;
  reduction.function(piece.output, operands_.data(), static_cast<std::size_t>(ranks_), elements, stores.result,
                     nullptr);
  return true;
}

/// All of a longer one, piece by piece: while a piece is reduced, one behind it is written for the peers, and the one
/// behind that is fetched. False when a peer is gone.
//
// In ms, with the fetching only, and with both (two cores of an EPYC of family 25, model 17, near each other, which
// take 5.3 to copy 64 MiB each around the caches): 16 MiB 1.91 1.55, 64 MiB 8.1 7.2, 256 MiB 32.9 28.8. Far apart, with
// payloads around the caches too: 16 MiB 2.7 2.2, 64 MiB 10.5 8.9; with fetching 2.3 and 9.2. Without either, near,
// 64 MiB took 10.1. Through the caches, where nothing is fetched, in us, one after the other and together: 1 MiB 63 62,
// 3 MB 206 197, 5 MB 417 384.
//
// Published one piece ahead, and two, in us: near each other 128 KiB 7.7 7.5, 512 KiB 32.7 31.3, 2 MiB 136 132, 16 MiB
// 1661 1596; four ranks on these cores, where ranks find the next piece there when they get a core, 128 KiB 42 38, 2
// MiB 679 615; eight 125 117, and 2365 2104. Three ahead are hardly better (four 38 and 618, eight 122 and 1905).
bool Context::exchange_pieces_on_board(const Call& call, const kernel::Reducer& reduction, kernel::Stores stores) {
  transport::shm::ParityBoard& board = *board_;
  const std::size_t whole = static_cast<std::size_t>(call.elements) * reduction.element_bytes;
  const auto* input = static_cast<const std::byte*>(call.input);
  auto* output = static_cast<std::byte*>(call.output);
  const std::size_t ring = ring_on_board(whole);
  board.use_ring(ring);
  const std::size_t piece = board.most_bytes() / reduction.element_bytes * reduction.element_bytes;
  PiecesAhead pieces(board, {input, whole}, piece, stores.publish);
  const std::size_t ahead = PiecesAhead::number_of(piece, ring);
  for (std::size_t i = 0; i < ahead; ++i) {
    const kernel::Copy first = pieces.next();
    process_.kernels().copy(first.to, first.from, first.bytes, first.store);
    pieces.publish();
  }
  for (std::size_t at = 0; at < whole; at += piece) {
    const std::size_t bytes = std::min(piece, whole - at);
    board.begin(PiecesAhead::room_for(bytes));
    if (!await_operands(input + at, PiecesAhead::room_for(bytes))) return false;
    const kernel::Copy next = pieces.next();
    kernel::Beside beside;
    if (next.bytes > 0) beside.copies = {&next, 1};
    beside.fetch = pieces.fetched();
    reduction.function(output + at, operands_.data(), static_cast<std::size_t>(ranks_), bytes / reduction.element_bytes,
                       stores.result, &beside);
    pieces.publish();
  }
  board.use_ring(board.ring_bytes());
  return true;
}

/// Nearly all calls of a node go this way. So no more is done for the next look than to compare a count.
void Context::count_on_board(Way& way, std::size_t bytes, bool in_parts) {
  way.tally.bytes += bytes;
  if (in_parts) way.bytes_in_parts += bytes;
  if (++way.tally.calls == way.look_at) [[unlikely]]
    way.path = Path::board_in_review;
}

Outcome Context::run_on_board(const Call& call, Way& way, std::size_t bytes) {
  const trace::RecordedCall recorded(recorder_, way.name, ranks_, calls_, bytes);
  const bool in_parts = bytes > board_->most_bytes() && is_in_parts(bytes, way.stores);
  if (device_ != nullptr && uses_device(call, bytes)) [[unlikely]] {
    count_on_board(way, bytes, in_parts);
    return run_staged(call, way, bytes) ? Outcome::done : give_up();
  }
  const kernel::Reducer reduction = reducer(call);
  const bool done = bytes <= board_->most_bytes() ? exchange_on_board(call, reduction, way.stores)
                    : in_parts                    ? exchange_parts_on_board(call, reduction, way.stores)
                                                  : exchange_pieces_on_board(call, reduction, way.stores);
  if (!done) return give_up();
  count_on_board(way, bytes, in_parts);
  return Outcome::done;
}

/// False when a peer is gone.
bool Context::run_plan(const Call& call, const Way& way, engine::SliceMemory* memory) {
  engine::Plan& plan = *way.plan;
  engine::Request request;
  request.input = static_cast<const std::byte*>(call.input);
  request.output = static_cast<std::byte*>(call.output);
  request.elements = call.elements;
  request.reducer = reducer(call);
  request.stores = way.stores;
  request.call = calls_;
  request.memory = memory;
  request.element = call.element;
  request.operation = call.operation;
  plan.submit(request);
  waiting_plan_ = &plan;
  waiting_bytes_ = static_cast<std::size_t>(call.elements) * request.reducer.element_bytes;
  engine::Waiter waiter(watch_.begin(*this), crowding_, contention_between_nodes());
  const bool crowded = crowding_ == engine::Crowding::crowded;
  const auto advance = recorder_ == nullptr ? &engine::Plan::advance : &engine::Plan::advance_recorded;
  while (!request.complete() && !watch_.hopeless()) {
    if ((plan.*advance)()) {
      waiter.reset();
      watch_.moved();
    } else if (memory != nullptr && !memory->failure().empty()) {
      lose_device(memory->failure());
    } else if (way.slots != nullptr && !way.slots->failure().empty()) {
      lose_device(way.slots->failure());
    } else {
      waiter.step(crowded);
    }
  }
  while (!watch_.hopeless() && !plan.flushed())
    waiter.step(crowded);
  watch_.end();
  waiting_plan_ = nullptr;
  if (contention_.found() && !told_of_contention_) [[unlikely]]
    tell_of_contention();
  if (watch_.hopeless()) {
    plan.abandon();
    // Copies from peers' slots may be under way to buffers that the caller gets back now. Peers must know before that.
    if (way.slots != nullptr) way.slots->give_up();
  }
  return !watch_.hopeless();
}

Outcome Context::run(const Call& call, Way& way, std::size_t bytes) {
  if (is_on_board(way.path)) return run_on_board(call, way, bytes);
  ++way.tally.calls;
  way.tally.bytes += bytes;
  if (probe_) probe_->earn(way.seconds);
  if (way.path == Path::native) return Outcome::native;
  if (way.path == Path::lost) return Outcome::peer_lost;
  const trace::RecordedCall recorded(recorder_, way.name, ranks_, calls_, bytes);
  const bool on_device = device_ != nullptr && uses_device(call, bytes);
  const bool done = on_device ? run_on_device(call, way, bytes) : run_plan(call, way, nullptr);
  return done ? Outcome::done : give_up();
}

Outcome Context::all_reduce_elsewhere(const Call& call, Decision& decision, std::size_t bytes) {
  if (probe_ && probe_->due()) (void)run_probe();
  if (decision.way.path != Path::undecided)
    return decision.review ? run_reviewed(call, decision, bytes) : run(call, decision.way, bytes);
  if (!decision.trial) choose_way(decision, call, bytes);
  return decision.trial ? try_a_way(call, decision, bytes) : run(call, decision.way, bytes);
}

namespace {

template <typename Function>
void for_each_way(const auto& decision, const Function& function) {
  function(decision.way);
  for (const auto& way : decision.others)
    function(way);
  for (const auto& way : decision.retired)
    function(way);
  if (decision.trial)
    for (const auto& way : decision.trial->ways)
      function(way);
}

} // namespace

Statistics Context::statistics() const {
  Statistics sum;
  sum.contexts = 1;
  const auto add = [&](const Way& way) {
    if (way.tally.calls == 0) return;
    if (way.path == Path::native || way.path == Path::lost)
      sum.native_by_reason["predicted or seen to be faster"] += way.tally;
    else
      sum.by_algorithm[way.name] += way.tally;
    if (is_on_board(way.path) && ranks_ > 1) {
      const auto others = static_cast<std::uint64_t>(ranks_ - 1);
      sum.sent_by_transport[link_names_.front()] += way.tally;
      // A part goes to the rank that reduces it, and its results to all.
      const std::uint64_t to_each = way.tally.bytes - way.bytes_in_parts;
      const std::uint64_t bytes = (to_each + 2 * way.bytes_in_parts / (others + 1)) * others;
      sum.sent_by_level[hierarchy().levels.back().name] += {way.tally.calls * others, bytes};
    }
  };
  for (const Decision& decision : decisions_)
    for_each_way(decision, add);
  for (const MadePlan& made : plans_) {
    if (!made.plan) continue;
    for (std::size_t link = 0; link < all_links_.size(); ++link) {
      const transport::Traffic traffic = made.plan->traffic(link);
      if (traffic.messages > 0) sum.sent_by_transport[link_names_[link]] += {traffic.messages, traffic.bytes};
    }
    const std::vector<topo::Level>& levels = planned_levels_[made.levels];
    for (std::size_t level = 0; level < levels.size() && level < engine::Plan::most_levels; ++level) {
      const transport::Traffic traffic = made.plan->level_traffic(level);
      if (traffic.messages > 0) sum.sent_by_level[levels[level].name] += {traffic.messages, traffic.bytes};
    }
  }
  return sum;
}

} // namespace strata::comm
