// SPDX-License-Identifier: BSD-3-Clause
// A probe of the links between nodes: which pairs of nodes exchange data in which round, when a round is paid for, and
// what the rounds have told. It sends nothing itself; every rank keeps an equal one, so that all decide alike.
//
// A round is a perfect matching: each node exchanges with one other, both ways, all pairs at once. The rounds of one
// pass are those of a round-robin tournament (the circle method), so a pass sees each pair once, in n - 1 rounds (n of
// them where n is odd); of many nodes, only the first 8 log2 n rounds, a sample of the pairs. The next pass has the
// nodes in another order, so that a pair meets other company. After each pass the racks are looked for
// (topo::racks_of), and when they are clear, and the same as one pass before, that part is over. PLink (Luo et al.,
// MLSys 2020, section 3) probes pairs one by one and so cannot see a shared uplink.
//
// The first pass has one rank of each node, the second one two, the third four, and so on, as long as the nodes reach
// more (tune/growth.h); then what passes of fewer ranks saw is forgotten.
//
// A node that sends slowly also receives slowly then: what it answers waits behind what it sends. Where a card or a
// link seems to be slow, and of two nodes always, two more passes tell which way it is: each pair meets twice in each,
// for one way and for the other.
//
// Then two short rounds measure what cores copy and reduce: one core of each node alone, and all at once. And for each
// kind of link, a round times single messages of several sizes between ranks that it joins, while nothing else is under
// way on it: by strata's transport and by the MPI library's. In the last round all ranks send short messages at once,
// first one each at a time and then several: what the others take more is how long a node needs for each.
//
// Its time is earned: a fixed share of the time that calls have taken.
#pragma once

#include "topo/link_matrix.h"
#include "topo/outliers.h"
#include "topo/racks.h"
#include "tune/growth.h"
#include "tune/message_times.h"
#include "tune/rates.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace strata::tune {

class Probe {
public:
  /// What one node saw in a round.
  struct Observation {
    double received = 0; ///< bytes per second from its partner, of all its ranks together; 0: it had none
    double latency = 0;  ///< seconds, one way; 0: not measured
    double elapsed = 0;  ///< seconds that the round took there
    double failed = 0;   ///< not 0: it could not exchange; then the probe ends without a result
  };

  /// What one rank saw of its memory: bytes per second of its core's time. 0: it rested.
  struct MemorySample {
    RatesOfCore cache, memory; ///< of buffers that a cache keeps, and that none does
    double elapsed = 0;        ///< seconds
    double cache_share = 0;    ///< bytes of the last-level cache for this core, of those that work; 0: unknown
  };

  /// What one rank saw of its messages; nothing where it was in no pair.
  struct MessageSample {
    MessageTimes times;
    double elapsed = 0; ///< seconds
  };

  /// What one rank saw when all sent at once; nothing where it took no part.
  struct CrowdSample {
    double one = 0, several = 0; ///< seconds in which each rank sends one message and gets one, or several
    double messages = 0;         ///< how many these are
    double elapsed = 0;          ///< seconds
  };

  /// Of one node, only memory and messages are measured.
  /// `share` of the time that calls take may be spent; 0: never. `guess`: racks by node as somebody says they are;
  /// where the first pass finds the same, no second one is needed. `ranks_of_node`: of the smallest.
  Probe(std::int32_t nodes, double share, std::vector<std::int32_t> guess = {}, std::int32_t ranks_of_node = 1);

  /// A call has taken this long, by a number that all ranks have agreed on.
  void earn(double seconds) { earned_ += share_ * seconds; }
  /// Whether a round is left and paid for.
  bool due() const { return !finished() && share_ > 0 && earned_ >= price_; }
  bool finished() const { return part_ == Part::over; }
  /// What the next round measures.
  enum class Part : std::uint8_t {
    links,           ///< both ways at once
    links_one_way,   ///< see ascending()
    memory_alone,    ///< one rank of each node, while the others rest
    memory_together, ///< all ranks at once
    messages,        ///< between ranks that link() joins
    messages_of_all, ///< short ones, of the ranks that are in rings (topo::ring_neighbours)
    over
  };
  Part part() const { return part_; }
  bool measures_links() const { return part_ == Part::links || part_ == Part::links_one_way; }
  /// In a round one way: from the lower node of each pair to the higher, or back.
  bool ascending() const { return one_way_round_ % 2 == 0; }

  /// The partners of the next round, by node; -1: none.
  std::vector<std::int32_t> partners() const;
  /// So many ranks of each node exchange data with as many of its partner's.
  std::int32_t senders() const { return growth_.senders(); }
  /// Seconds that its pairs send.
  double sending_seconds() const { return sending_seconds_; }
  /// Seconds within which a round is over, if nothing is broken. TCP sends a message that was lost five times again
  /// after 6 s.
  double patience() const { return 10 + 20 * sending_seconds_; }

  /// In a round of messages: between which ranks, and about how many seconds those of one library take.
  topo::LinkKind link() const { return static_cast<topo::LinkKind>(link_); }
  double message_seconds() const;
  /// The seconds that pairs of ranks are to spend with the messages of one size and one library.
  static constexpr double seconds_of_a_size = 4e-3;
  /// The seconds for which all ranks send at once.
  static constexpr double seconds_of_all = 40e-3;
  /// How often a message is sent at least, each time there and back.
  static constexpr std::size_t least_messages = 3;

  /// Ends a round of links with what its nodes saw, equal on all ranks.
  void settle(std::span<const Observation> by_node);
  /// Ends a round of memory with what the ranks saw, likewise.
  void settle_memory(std::span<const MemorySample> by_rank, std::span<const std::int32_t> node_of_rank);

  /// Ends a round of messages, likewise; without samples where that link joins no ranks here.
  void settle_messages(std::span<const MessageSample> by_rank);
  /// Ends the round of all ranks, likewise.
  void settle_messages_of_all(std::span<const CrowdSample> by_rank, std::span<const std::int32_t> node_of_rank);

  /// After the part of links: what was found. `racks().racks` is 1 where there are none.
  const topo::Racks& racks() const { return racks_; }
  /// Bytes per second that one rank sends and receives alone, where it takes several to fill a node's links; 0: one
  /// does, or nothing is known.
  double rate_of_rank() const { return rate_of_rank_; }
  /// What is slower than the rest.
  const topo::Outliers& outliers() const { return outliers_; }
  /// What was seen of each pair.
  topo::LinkMatrix matrix() const { return topo::link_matrix(nodes_, rates_, latencies_); }
  /// Seconds of an empty message from node to node in one rack, the median; of all pairs where none of one rack was
  /// seen. No more than all ranks at once had, without the gaps between their messages: where cores are shared, others
  /// may have been in the way of a pair that was alone, too. 0: not measured.
  double latency() const;
  /// The same from rack to rack; 0: there are no racks, or no such pair was seen.
  double latency_across() const;
  /// Whether the racks are those that were guessed; nothing when there was no guess.
  std::optional<bool> guess_confirmed() const;
  /// After finished().
  const MemoryRates& cache() const { return cache_; }
  const MemoryRates& memory() const { return memory_; }
  /// Bytes of the last-level cache for each core while all are busy; 0: unknown.
  double cache_share() const { return cache_share_; }
  const MessageTimesByLink& messages() const { return messages_; }
  /// Seconds between two short messages of a node when all its ranks send at once (the gap of LogP: Culler et al.,
  /// PPoPP 1993, section 3); 0: they hardly hinder each other. Nothing: that is not known, because there is one other
  /// rank on other nodes, or a node is slow.
  std::optional<double> gap() const { return gap_; }
  /// How many ranks of a node sent then, of the node with most. Of fewer, less may be in each other's way.
  std::int32_t gap_senders() const { return gap_senders_; }
  bool failed() const { return failed_; }
  std::int32_t rounds() const { return round_ + one_way_round_; }
  double spent() const { return spent_; }

private:
  /// How often pairs have met before this round: a meeting is a round both ways, or one each way.
  std::int32_t meetings() const { return round_ + one_way_round_ / 2; }
  std::vector<double> best_since(std::int32_t round) const;
  void grow();
  void conclude_pass();
  void conclude_links();
  void set_price_of_messages();
  void find_slow_cores(std::span<const MemorySample> by_rank, std::span<const std::int32_t> node_of_rank);

  std::int32_t nodes_;
  std::int32_t ranks_of_node_;
  double share_;
  double earned_ = 0, spent_ = 0;
  double price_;
  double sending_seconds_;
  std::vector<double> most_received_; ///< by node
  std::int32_t round_ = 0;            ///< both ways
  std::int32_t counts_from_ = 0;      ///< the first of those that count
  Growth growth_;
  double rate_of_rank_ = 0;
  std::int32_t one_way_round_ = 0;
  std::vector<topo::TransferRate> rates_, one_way_rates_;
  std::vector<topo::PairLatency> latencies_;
  topo::Racks racks_;
  topo::Outliers outliers_;
  std::vector<std::int32_t> guess_;
  MemoryRates cache_, memory_;
  double cache_share_ = 0;
  std::size_t link_ = 0; ///< whose messages come next
  MessageTimesByLink messages_{};
  std::optional<double> gap_;
  std::int32_t gap_senders_ = 0;
  double most_latency_; ///< that is believed of nodes in one rack
  Part part_ = Part::links;
  bool failed_ = false;
};

} // namespace strata::tune
