// SPDX-License-Identifier: BSD-3-Clause
// The last rounds of a probe: single messages of several sizes between ranks that stand for all that a link of one kind
// joins, by strata's own transport and then by the MPI library's.
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

/// The pair that a rank is in, if any.
topo::RankPair pair_of(std::int32_t rank, const std::vector<topo::RankPair>& pairs) {
  for (const topo::RankPair& pair : pairs)
    if (pair.first == rank || pair.second == rank) return pair;
  return {};
}

/// What the ranks tell each other first.
struct CourierCard {
  std::uint64_t announcement = 0, key = 0;
};

} // namespace

/// One round. False when the ranks could not exchange: then there is no probe any more.
bool Context::probe_messages() {
  std::vector<topo::RankPair> pairs;
  for (; !probe_->finished(); probe_->settle_messages({})) {
    pairs = topo::pairs_joined_by(probe_->link(), facts_, probe_->racks().rack_of);
    if (!pairs.empty()) break;
  }
  if (pairs.empty()) return conclude_messages();
  const topo::RankPair pair = pair_of(rank_, pairs);
  const bool asks = pair.first == rank_, takes_part = pair.first >= 0;
  const std::int32_t peer = asks ? pair.second : pair.first;
  const std::uint32_t plan = next_plan_++;
  const engine::Waiter waiter(bootstrap_->idle_hook(), crowding_);
  std::vector<std::byte> payload(takes_part ? message_timing_bytes : 0); // now: later, the peer waits
  std::vector<std::uint64_t> announcements(static_cast<std::size_t>(ranks_), 0);
  std::unique_ptr<ChannelCourier> courier;
  CourierCard mine{0, key_};
  if (takes_part) {
    transport::Links& links = *all_links_[route_[static_cast<std::size_t>(peer)]];
    if (auto prepared = ChannelCourier::prepare(links, peer, plan, seconds_for_a_message, waiter))
      courier = std::move(*prepared);
    if (courier) mine.announcement = courier->announcement();
  }
  bool works = all_agree(!takes_part || courier != nullptr);
  const auto cards = gather(*bootstrap_, mine);
  if (!cards) {
    ChannelCourier::abandon(std::move(courier));
    probe_.reset();
    return false;
  }
  if (takes_part)
    for (const std::int32_t rank : {rank_, peer})
      announcements[static_cast<std::size_t>(rank)] = (*cards)[static_cast<std::size_t>(rank)].announcement;
  works = works && all_agree(!courier || courier->connect(announcements));
  if (works) {
    bool heard = true;
    const auto connect = [&] { heard = !courier || courier->hear_of_peer(); };
    const auto keep_connecting = [](void* one) {
      if (one != nullptr) static_cast<ChannelCourier*>(one)->keep_connecting();
    };
    bootstrap_->run_and_wait(connect, {keep_connecting, courier.get()});
    works = all_agree(heard);
  }

  const Clock::time_point start = Clock::now();
  tune::Probe::MessageSample sample;
  if (works) {
    works = time_messages(courier.get(), asks, payload.data(), sample.times.strata) && (!courier || courier->finish());
    works = all_agree(works);
  }
  if (!works) ChannelCourier::abandon(std::move(courier));
  if (bootstrap_->has_native()) {
    const std::uint64_t key = takes_part ? (*cards)[static_cast<std::size_t>(pair.first)].key : 0;
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

/// Without a courier, this rank leaves the cores to those who have one. False: it failed.
bool Context::time_messages(Courier* courier, bool asks, std::byte* payload, tune::SecondsBySize& times) {
  if (courier == nullptr) {
    constexpr auto nap = std::chrono::microseconds(100); // what yields its core for milliseconds first is in the way
    const engine::IdleHook hook = bootstrap_->idle_hook();
    const Clock::time_point start = Clock::now();
    for (const double rest = probe_->message_seconds(); seconds_since(start) < rest;) {
      std::this_thread::sleep_for(nap);
      if (hook.function != nullptr) hook.function(hook.state);
    }
    return true;
  }
  if (!asks) return answer_messages(*courier, payload);
  times = ask_messages(*courier, payload, tune::Probe::seconds_of_a_size, tune::Probe::least_messages);
  return times[0] > 0;
}

bool Context::conclude_messages() {
  if (!probe_->finished()) return true;
  if (may_adopt_links()) tune::take_messages(situation_.parameters, probe_->messages());
  if (options_.log_choice && rank_ == 0)
    for (const std::string& line : tune::sentences_of(probe_->messages()))
      log_line(line);
  keep_links();
  probe_.reset();
  return true;
}

} // namespace strata::comm
