// SPDX-License-Identifier: BSD-3-Clause
// The last rounds of a probe: single messages of several sizes between ranks that stand for all that a link of one kind
// joins, by strata's own transport and then by the MPI library's; and at the very end, short messages of all ranks at
// once, which tell how much they hinder each other.
#include "comm/context.h"

#include "base/elapsed.h"
#include "base/log.h"
#include "comm/message_timing.h"
#include "tune/probed_links.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace strata::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double seconds_for_a_message = 10; // after which it is taken for lost
/// Messages go through so many buffers in turn, as slices go through those of a plan in one node: a buffer that is
/// still in the core's own cache when it is written again costs more. (256 KiB between two cores of a Zen 4 that share
/// a cache: 25 us with 2 of them, 15 with 4.)
constexpr std::uint32_t messages_ahead = 4;

/// The pair that a rank is in, if any.
topo::RankPair pair_of(std::int32_t rank, const std::vector<topo::RankPair>& pairs) {
  for (const topo::RankPair& pair : pairs)
    if (pair.first == rank || pair.second == rank) return pair;
  return {};
}

} // namespace

/// What ranks have when they have told each other of their couriers.
struct Context::Couriers {
  /// What the ranks tell each other first.
  struct Card {
    std::uint64_t announcement = 0, key = 0;
  };
  std::unique_ptr<ChannelCourier> mine; ///< null: this rank takes no part, or it could not be made
  std::vector<Card> cards;              ///< by rank
  bool work = false;                    ///< all of them; agreed on
};

/// All ranks take part; those that have a way get a courier. The error: they could not exchange.
Result<Context::Couriers> Context::connect_couriers(const CourierWay& way) {
  const bool takes_part = !way.to.empty();
  const std::uint32_t plan = next_plan_++;
  const engine::Waiter waiter(bootstrap_->idle_hook(), crowding_, contention_between_nodes());
  std::vector<std::uint64_t> announcements(static_cast<std::size_t>(ranks_), 0);
  Couriers couriers;
  Couriers::Card card{0, key_};
  if (takes_part) {
    transport::Links& links = *all_links_[route_[static_cast<std::size_t>(way.to.front())]];
    if (auto prepared = ChannelCourier::prepare(links, way, plan, seconds_for_a_message, waiter))
      couriers.mine = std::move(*prepared);
    if (couriers.mine) card.announcement = couriers.mine->announcement();
  }
  couriers.work = all_agree(!takes_part || couriers.mine != nullptr);
  auto cards = gather(*bootstrap_, card);
  if (!cards) {
    ChannelCourier::abandon(std::move(couriers.mine));
    return cards.error();
  }
  couriers.cards = std::move(*cards);
  std::transform(couriers.cards.begin(), couriers.cards.end(), announcements.begin(),
                 [](const Couriers::Card& one) { return one.announcement; });
  couriers.work = couriers.work && all_agree(!couriers.mine || couriers.mine->connect(announcements));
  if (!couriers.work) return couriers;
  bool heard = true;
  const auto connect = [&] { heard = !couriers.mine || couriers.mine->hear_of_peer(); };
  const auto keep_connecting = [](void* one) {
    if (one != nullptr) static_cast<ChannelCourier*>(one)->keep_connecting();
  };
  bootstrap_->run_and_wait(connect, {keep_connecting, couriers.mine.get()});
  couriers.work = all_agree(heard);
  return couriers;
}

/// One round. False when the ranks could not exchange: then there is no probe any more.
bool Context::probe_messages() {
  std::vector<topo::RankPair> pairs;
  for (; probe_->part() == tune::Probe::Part::messages; probe_->settle_messages({})) {
    pairs = topo::pairs_joined_by(probe_->link(), facts_, probe_->racks().rack_of);
    if (!pairs.empty()) break;
  }
  if (pairs.empty()) return conclude_messages();
  const topo::RankPair pair = pair_of(rank_, pairs);
  const bool asks = pair.first == rank_, takes_part = pair.first >= 0;
  const std::int32_t peer = asks ? pair.second : pair.first;
  std::vector<std::byte> payload(takes_part ? message_timing_bytes : 0); // now: later, the peer waits
  CourierWay way{{}, {}, message_timing_bytes, messages_ahead};
  if (takes_part) way.to = way.from = {peer};
  auto couriers = connect_couriers(way);
  if (!couriers) {
    probe_.reset();
    return false;
  }
  std::unique_ptr<ChannelCourier> courier = std::move(couriers->mine);

  const Clock::time_point start = Clock::now();
  tune::Probe::MessageSample sample;
  bool works = couriers->work;
  if (works) {
    works = time_messages(courier.get(), asks, payload.data(), sample.times.strata) && (!courier || courier->finish());
    works = all_agree(works);
  }
  if (!works) ChannelCourier::abandon(std::move(courier));
  if (bootstrap_->has_native()) {
    const std::uint64_t key = takes_part ? couriers->cards[static_cast<std::size_t>(pair.first)].key : 0;
    NativeCourier native(*bootstrap_, peer, key, asks);
    (void)time_messages(takes_part ? &native : nullptr, asks, payload.data(), sample.times.native);
  }
  sample.elapsed = seconds_since(start);
  const auto all = gather(*bootstrap_, sample);
  if (!all) {
    probe_.reset();
    return false;
  }
  probe_->settle_messages(*all);
  return conclude_messages();
}

struct Context::RoundOfAll {
  bool worked = false; ///< for all ranks
  double seconds = 0;  ///< that a round took this one; 0: it took no part
};

/// Short messages of all ranks at once, so many from each. The error: they could not exchange.
Result<Context::RoundOfAll> Context::round_of_all(const topo::RingNeighbours& ring) {
  constexpr std::uint32_t ahead = 8; // of a rank that is that far around the ring; there is room for more
  constexpr double seconds = tune::Probe::seconds_of_all / 2;
  auto couriers = connect_couriers({ring.to, ring.from, passed_bytes, ahead});
  if (!couriers) return couriers.error();
  std::unique_ptr<ChannelCourier> courier = std::move(couriers->mine);
  RoundOfAll round{couriers->work, 0};
  if (round.worked) {
    if (courier) {
      round.seconds = pass_around(*courier, seconds, {ring.size, ring.from.size(), ring.is_first});
      round.worked = round.seconds > 0 && courier->finish();
    } else {
      leave_cores_for(seconds);
    }
    round.worked = all_agree(round.worked);
  }
  if (!round.worked) ChannelCourier::abandon(std::move(courier));
  return round;
}

/// The last round: one message of each rank at a time, and then several. Where that fails, nothing is known of how they
/// hinder each other. False when the ranks could not exchange: then there is no probe any more.
bool Context::probe_messages_of_all() {
  const auto ring = [&](int messages) {
    return topo::ring_neighbours(rank_, facts_, probe_->racks().rack_of, messages);
  };
  (void)all_agree(true); // waiting for ranks that come late is no price of the probe
  const Clock::time_point start = Clock::now();
  const topo::RingNeighbours to_several = ring(topo::most_in_ring);
  const auto one = round_of_all(ring(1));
  auto several = one;
  if (one && one->worked) several = round_of_all(to_several);
  if (!several) {
    probe_.reset();
    return false;
  }
  tune::Probe::CrowdSample sample;
  if (several->worked) sample = {one->seconds, several->seconds, static_cast<double>(to_several.to.size()), 0};
  sample.elapsed = seconds_since(start);
  const auto all = gather(*bootstrap_, sample);
  if (!all) {
    probe_.reset();
    return false;
  }
  std::vector<std::int32_t> node_of_rank;
  for (const topo::RankFacts& fact : facts_)
    node_of_rank.push_back(fact.memory_group);
  probe_->settle_messages_of_all(*all, node_of_rank);
  return conclude_messages();
}

/// Naps: what yields its core for milliseconds first is in the way of those who measure.
void Context::leave_cores_for(double seconds) const {
  constexpr auto nap = std::chrono::microseconds(100);
  const engine::IdleHook hook = bootstrap_->idle_hook();
  const Clock::time_point start = Clock::now();
  while (seconds_since(start) < seconds) {
    std::this_thread::sleep_for(nap);
    if (hook.function != nullptr) hook.function(hook.state);
  }
}

/// Without a courier, this rank leaves the cores to those who have one. False: it failed.
bool Context::time_messages(Courier* courier, bool asks, std::byte* payload, tune::SecondsBySize& times) {
  if (courier == nullptr) {
    leave_cores_for(probe_->message_seconds());
    return true;
  }
  if (!asks) return answer_messages(*courier, payload);
  times = ask_messages(*courier, payload, tune::Probe::seconds_of_a_size, tune::Probe::least_messages);
  return times[0] > 0;
}

bool Context::conclude_messages() {
  if (!probe_->finished()) return true;
  if (may_adopt_links()) {
    // What was taken over with the rates may be too much; see Probe::latency().
    if (probe_->latency() > 0) tune::bound_latency(situation_.parameters, probe_->latency());
    tune::take_messages(situation_.parameters, probe_->messages());
    if (const auto gap = probe_->gap()) tune::take_gap(situation_.parameters, *gap);
  }
  if (options_.log_choice && rank_ == 0) {
    for (const std::string& line : tune::sentences_of(probe_->messages()))
      log_line(line);
    if (const auto gap = probe_->gap()) log_line(tune::sentence_of_gap(*gap));
  }
  keep_links();
  probe_.reset();
  return true;
}

} // namespace strata::comm
