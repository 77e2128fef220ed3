// SPDX-License-Identifier: BSD-3-Clause
#include "tune/model.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

const LinkParameters& of(const Parameters& parameters, topo::LinkKind kind) {
  return parameters.links[static_cast<std::size_t>(kind)];
}

TEST(MeasuredRates, TakeThePlaceOfTheDefaults) {
  const Parameters before = default_parameters();
  Parameters after = before;
  take_rates(after, {40e9, 20e9, 30e9, 25e9}, {8e9, 4e9, 6e9, 5e9}, 0);
  const LinkParameters &memory = of(after, topo::LinkKind::shared_memory),
                       &usual = of(before, topo::LinkKind::shared_memory);
  EXPECT_DOUBLE_EQ(memory.per_byte, 1 / 20e9) << "of a core while all are busy";
  EXPECT_DOUBLE_EQ(memory.read_per_byte / memory.per_byte, usual.read_per_byte / usual.per_byte);
  EXPECT_DOUBLE_EQ(memory.reduce_per_byte, 1 / 50e9) << "two operands are read";
  EXPECT_DOUBLE_EQ(of(after, topo::LinkKind::network).read_per_byte, 1 / 4e9);
  EXPECT_DOUBLE_EQ(of(after, topo::LinkKind::network).reduce_per_byte, 1 / 10e9);
  EXPECT_DOUBLE_EQ(of(after, topo::LinkKind::network).per_byte, of(before, topo::LinkKind::network).per_byte);
}

TEST(MeasuredRates, OfOneCoreAloneCountWhereThereAreNoOthers) {
  Parameters parameters = default_parameters();
  take_rates(parameters, {40e9, 0, 0, 0}, {}, 0);
  EXPECT_DOUBLE_EQ(of(parameters, topo::LinkKind::shared_cache).per_byte, 1 / 40e9);
}

TEST(MeasuredRates, ThatAreMissingLeaveTheDefaults) {
  const Parameters before = default_parameters();
  Parameters after = before;
  take_rates(after, {}, {}, 0);
  for (std::size_t kind = 0; kind < before.links.size(); ++kind) {
    EXPECT_EQ(after.links[kind].per_byte, before.links[kind].per_byte);
    EXPECT_EQ(after.links[kind].read_per_byte, before.links[kind].read_per_byte);
    EXPECT_EQ(after.links[kind].reduce_per_byte, before.links[kind].reduce_per_byte);
  }
}

/// Two ranks in a cache, each with a core of its own.
JobShape two_ranks() {
  topo::Hierarchy pair = topo::flat_hierarchy(std::vector<topo::RankFacts>(2));
  pair.levels[0].link = topo::LinkKind::shared_cache;
  return shape_of(pair, std::vector<topo::RankFacts>(2), std::vector<std::uint32_t>(2, 2));
}

TEST(MeasuredRates, CountOnceForVectorsThatNoCacheKeeps) {
  Parameters within = default_parameters(), beyond = within;
  take_rates(within, {0, 40e9, 0, 0}, {0, 8e9, 0, 0}, 0);
  take_rates(beyond, {0, 40e9, 0, 0}, {0, 8e9, 0, 0}, 16e6);
  const JobShape job = two_ranks();
  const auto composition = hier::composition_from("ring", job.hierarchy);
  ASSERT_TRUE(composition);
  Costs costs;
  const auto seconds = [&](std::size_t bytes, const Parameters& parameters) {
    return predict(job, *composition, bytes, std::size_t{1} << 20U, parameters, costs).seconds(4);
  };
  EXPECT_DOUBLE_EQ(seconds(4000000, beyond), seconds(4000000, within)) << "input and result are half of the cache";
  EXPECT_NEAR(seconds(6000000, beyond) - seconds(6000000, within), 0.5 * 6e6 * (1 / 8e9 - 1 / 40e9), 1e-6);
  const double more = seconds(64000000, beyond) - seconds(64000000, within);
  EXPECT_NEAR(more, 64e6 * (1 / 8e9 - 1 / 40e9), 1e-6);
}

// One slice takes 10 until it is over, and another one 2 more.
TEST(Predictions, LetAsManySlicesBeginAsMayBeInFlight) {
  const Prediction three{3, 10, 2}, five{5, 10, 2}, nine{9, 10, 2};
  EXPECT_DOUBLE_EQ(three.seconds(8), 10 + 2 * 2) << "all at once";
  EXPECT_DOUBLE_EQ(three.seconds(1), 3 * 10) << "one after the other";
  EXPECT_DOUBLE_EQ(three.seconds(2), 2 * 10) << "the third when the first is over, beside the second";
  EXPECT_DOUBLE_EQ(five.seconds(4), 10 + 4 * 2 + (10 - 4 * 2));
  EXPECT_DOUBLE_EQ(nine.seconds(4), 10 + 8 * 2 + 2 * (10 - 4 * 2));
  EXPECT_DOUBLE_EQ(nine.seconds(5), 10 + 8 * 2) << "five fill the way";
  EXPECT_DOUBLE_EQ(nine.seconds(64), 10 + 8 * 2);
  EXPECT_DOUBLE_EQ((Prediction{0, 3, 2}.seconds(0)), 3) << "of nothing";
}

TEST(MeasuredMessages, LeaveTheLatencyOfUplinksThatWasToldApart) {
  Parameters parameters = default_parameters();
  parameters.links[static_cast<std::size_t>(topo::LinkKind::network)].latency = 25e-6;
  parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)].latency = 60e-6;
  MessageTimesByLink messages{};
  messages[static_cast<std::size_t>(topo::LinkKind::network)].strata[0] = 11e-6;
  Parameters one = parameters;
  take_messages(parameters, messages);
  EXPECT_DOUBLE_EQ(of(parameters, topo::LinkKind::network).latency, 11e-6);
  EXPECT_DOUBLE_EQ(of(parameters, topo::LinkKind::uplink).latency, 60e-6);
  one.links[static_cast<std::size_t>(topo::LinkKind::uplink)].latency = 25e-6;
  take_messages(one, messages);
  EXPECT_DOUBLE_EQ(of(one, topo::LinkKind::uplink).latency, 11e-6) << "it is one with the network's";
}

MessageTimesByLink messages_in_cache(const SecondsBySize& strata) {
  MessageTimesByLink messages{};
  messages[static_cast<std::size_t>(topo::LinkKind::shared_cache)].strata = strata;
  return messages;
}

TEST(MeasuredMessages, TellLatencyAndWhatReadingTakesBeyondWriting) {
  Parameters parameters = default_parameters();
  take_rates(parameters, {0, 50e9, 0, 0}, {}, 0);
  take_messages(parameters, messages_in_cache({150e-9, 0, 0, 1e-6, 1e-6 + 229376 * 60e-12}));
  const LinkParameters& link = of(parameters, topo::LinkKind::shared_cache);
  EXPECT_DOUBLE_EQ(link.latency, 150e-9);
  EXPECT_NEAR(link.read_per_byte, 40e-12, 1e-15);
  EXPECT_EQ(of(parameters, topo::LinkKind::shared_memory).latency,
            of(default_parameters(), topo::LinkKind::shared_memory).latency);
}

TEST(MeasuredMessages, StandForALatencyThatWasMeasuredBehindOthers) {
  const auto latency = [](topo::LinkKind kind, double measured, double of_network, double of_uplink) {
    Parameters parameters = default_parameters();
    for (const topo::LinkKind between : {topo::LinkKind::network, topo::LinkKind::uplink})
      parameters.links[static_cast<std::size_t>(between)].latency = measured;
    MessageTimesByLink messages{};
    messages[static_cast<std::size_t>(topo::LinkKind::network)].strata[0] = of_network;
    messages[static_cast<std::size_t>(topo::LinkKind::uplink)].strata[0] = of_uplink;
    take_messages(parameters, messages);
    return of(parameters, kind).latency;
  };
  using topo::LinkKind;
  EXPECT_EQ(latency(LinkKind::network, 80e-6, 8e-6, 0), 8e-6);
  EXPECT_EQ(latency(LinkKind::network, 11e-6, 8e-6, 0), 11e-6);
  EXPECT_EQ(latency(LinkKind::network, 80e-6, 0, 0), 80e-6) << "no message was timed";
  EXPECT_EQ(latency(LinkKind::uplink, 80e-6, 8e-6, 0), 8e-6);
  EXPECT_EQ(latency(LinkKind::uplink, 80e-6, 8e-6, 60e-6), 80e-6);
}

TEST(MeasuredMessages, OfACrowdedNodeAreNotTaken) {
  const Parameters before = default_parameters();
  Parameters parameters = before;
  take_messages(parameters, messages_in_cache({30e-6, 0, 0, 40e-6, 90e-6}));
  const LinkParameters &link = of(parameters, topo::LinkKind::shared_cache),
                       &usual = of(before, topo::LinkKind::shared_cache);
  EXPECT_EQ(link.latency, usual.latency);
  EXPECT_EQ(link.read_per_byte, usual.read_per_byte);
}

} // namespace
} // namespace strata::tune
