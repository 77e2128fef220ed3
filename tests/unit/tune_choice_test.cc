// SPDX-License-Identifier: BSD-3-Clause
// What is considered for a call: enough, nothing twice, and no more for more levels.
#include "situations.h"

#include <gtest/gtest.h>

#include <set>

namespace strata::tune {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::vector<Candidate> candidates(const Situation& situation, std::size_t bytes) {
  const Choice choice = choose(situation, Options{}, size_class(bytes));
  std::vector<Candidate> all{choice.chosen};
  all.insert(all.end(), choice.runners_up.begin(), choice.runners_up.end());
  return all;
}

std::string names(const std::vector<Candidate>& candidates) {
  std::string all;
  for (const Candidate& candidate : candidates)
    all += candidate.name() + "\n";
  return all;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Choice, OfTwoNodesTriesTheSameThingUnderOneNameOnly) {
  const std::string all = names(candidates(cluster({4, 2}), mebibyte));
  EXPECT_TRUE(contains(all, "direct+direct slice")) << all;
  for (const char* same : {"+ring", "+recursive_halving", "+swing", "+bine", "+torus", "+circulant"})
    EXPECT_FALSE(contains(all, same)) << same << " does what direct does\n" << all;
}

TEST(Choice, OfTwelveNodesHasWhatDiffers) {
  const std::string all = names(candidates(cluster({4, 12}), mebibyte));
  for (const char* different : {"+direct ", "+ring ", "+recursive_halving ", "+recursive_doubling.exchange ",
                                "+binomial.exchange ", "+double_binary_tree.exchange ", "+swing ", "+bine ", "+torus ",
                                "+torus3d ", "+recursive_multiplying.exchange "})
    EXPECT_TRUE(contains(all, different)) << different << "\n" << all;
  EXPECT_FALSE(contains(all, "+recursive_multiplying_8")) << "12 is 4 times 3 in both\n" << all;
}

TEST(Choice, OfFifteenNodesHasTheCirculantBesideTheOthers) {
  const std::string all = names(candidates(cluster({4, 15}), mebibyte));
  EXPECT_TRUE(contains(all, "+bine ")) << all;
  EXPECT_TRUE(contains(all, "+circulant ")) << all;
}

TEST(Choice, OfAPrimeNumberOfNodesHasNoGridBesideTheRing) {
  const std::string all = names(candidates(cluster({4, 13}), mebibyte));
  EXPECT_TRUE(contains(all, "+ring ")) << all;
  EXPECT_FALSE(contains(all, "+torus")) << all;
}

TEST(Stores, AreDemotedOfShortVectorsOnTheLatencyPathOfProcessorsThatCan) {
  using Kind = Candidate::Kind;
  const std::vector<Around> nothing{Around::nothing}, either{Around::nothing, Around::demoted};
  Situation situation = cluster({2});
  EXPECT_EQ(stores_to_try(situation, Kind::board, 64), nothing);
  situation.can_demote = true;
  EXPECT_EQ(stores_to_try(situation, Kind::board, 1), either);
  EXPECT_EQ(stores_to_try(situation, Kind::board, 2047), either);
  EXPECT_EQ(stores_to_try(situation, Kind::board, 7 << 10),
            (std::vector{Around::nothing, Around::demoted, Around::published}));
  EXPECT_EQ(stores_to_try(situation, Kind::board, 8 << 10), (std::vector{Around::nothing, Around::published}));
  EXPECT_EQ(stores_to_try(situation, Kind::schedule, 7 << 10), nothing);
  situation.on_devices = true;
  EXPECT_EQ(stores_to_try(situation, Kind::board, 64), nothing);
}

TEST(Stores, GoAroundTheCachesOfShorterVectorsOnTheLatencyPath) {
  using Kind = Candidate::Kind;
  const std::vector<Around> nothing{Around::nothing}, either{Around::nothing, Around::published};
  const Situation situation = cluster({2});
  EXPECT_EQ(stores_to_try(situation, Kind::board, 2047), nothing);
  EXPECT_EQ(stores_to_try(situation, Kind::board, 2048), either);
  EXPECT_EQ(stores_to_try(situation, Kind::schedule, 2048), nothing);
  EXPECT_EQ(stores_to_try(situation, Kind::schedule, 8 << 10), either);
}

TEST(Choice, DependsOnNothingThatWasChosenBefore) {
  for (const auto& factors : {std::vector{4, 2}, {2, 3, 12}, {16}, {1, 64}})
    for (std::size_t bytes : {std::size_t{8}, std::size_t{20000}, 16 * mebibyte}) {
      const std::string before = names(candidates(cluster(factors), bytes));
      for (const auto& other : {std::vector{3, 5}, {12}, {2, 2, 7}})
        (void)candidates(cluster(other), bytes + mebibyte);
      EXPECT_EQ(names(candidates(cluster(factors), bytes)), before);
    }
}

TEST(Choice, ConsidersNoMoreForMoreLevels) {
  const std::size_t of_two = candidates(cluster({4, 12}), mebibyte).size();
  EXPECT_GT(of_two, 20u);
  EXPECT_EQ(candidates(cluster({2, 2, 12}), mebibyte).size(), of_two);
  EXPECT_EQ(candidates(cluster({2, 2, 2, 2, 2, 2, 12}), mebibyte).size(), of_two);
}

/// Two racks of two nodes of two ranks, nodes interleaved, each uplink half of a NIC.
Situation two_racks() {
  std::vector<topo::RankFacts> facts;
  for (std::int32_t rank = 0; rank < 8; ++rank)
    facts.push_back({.memory_group = rank / 2});
  const std::vector<std::uint32_t> cores(8, 2);
  const std::vector<std::int32_t> rack_of{0, 1, 0, 1};
  const topo::Hierarchy plain = topo::hierarchy_from(facts);
  Situation situation;
  situation.parameters = default_parameters();
  LinkParameters& network = situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  network.per_byte = 1 / 118e6;
  situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)] = network;
  situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)].per_byte = 1 / 59e6;
  situation.job = shape_of(topo::with_racks(plain, facts, rack_of), facts, cores);
  situation.plain = shape_of(plain, facts, cores);
  note_racks(*situation.plain, situation.job);
  situation.wire_bytes = wire_bytes_for(0);
  return situation;
}

// Two nodes of four ranks, each of which can fill a quarter of its node's links.
TEST(Choice, LetsAllRanksOfANodeSendWhereOneCannotFillItsLinks) {
  Situation situation = cluster({4, 2});
  LinkParameters& network = situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  const auto seconds = [&](const char* ways) {
    const auto composition = hier::composition_from(ways, situation.job.hierarchy);
    EXPECT_TRUE(composition) << ways;
    Costs costs;
    return predict(situation.job, *composition, 64 * mebibyte, mebibyte, situation.parameters, costs).seconds(4);
  };
  const double all = seconds("direct+direct"), leader = seconds("direct.leader+direct");
  EXPECT_LT(leader, 1.2 * all) << "a leader that fills the links is as good";
  network.per_byte_of_rank = 4 * network.per_byte;
  EXPECT_DOUBLE_EQ(seconds("direct+direct"), all);
  EXPECT_GT(seconds("direct.leader+direct"), 3.5 * all);
  const double native = predict_native(situation.job, 64 * mebibyte, situation.parameters);
  network.per_byte_of_rank = 0;
  EXPECT_GT(native, 2 * predict_native(situation.job, 64 * mebibyte, situation.parameters));
}

// Four nodes of two ranks whose messages come out of a node one every 40 us, however they are divided among the ranks.
TEST(Choice, CountsTheMessagesOfANodeWhereTheyHinderEachOther) {
  Situation situation = cluster({2, 4});
  LinkParameters& network = situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  const auto seconds = [&](const char* ways, std::size_t bytes) {
    const auto composition = hier::composition_from(ways, situation.job.hierarchy);
    EXPECT_TRUE(composition) << ways;
    Costs costs;
    return predict(situation.job, *composition, bytes, mebibyte, situation.parameters, costs).seconds(4);
  };
  struct Way {
    const char* name;
    std::size_t bytes;
    double messages;
  };
  // By two ranks three messages each, twice; by one rank to three, or to two one after the other.
  const Way ways[] = {{"direct+direct", 1024, 12},
                      {"direct+ring", 1024, 12},
                      {"direct+direct.exchange", 1024, 6},
                      {"direct.leader+direct.exchange", 1024, 3},
                      {"direct.leader+recursive_doubling.exchange", 1024, 2},
                      {"direct+direct", 8, 8}}; // an element each, to one of four nodes, and from it to all
  const double native_before = predict_native(situation.job, 1024, situation.parameters);
  std::vector<double> before;
  for (const Way& way : ways)
    before.push_back(seconds(way.name, way.bytes));
  take_gap(situation.parameters, 40e-6);
  EXPECT_EQ(network.gap, 40e-6);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(seconds(ways[i].name, ways[i].bytes) - before[i], ways[i].messages * 40e-6, 15e-6)
        << ways[i].name << ": what ranks do for them is beside it";
  EXPECT_GT(predict_native(situation.job, 1024, situation.parameters), 2 * native_before);
  take_gap(situation.parameters, 0);
  EXPECT_DOUBLE_EQ(predict_native(situation.job, 1024, situation.parameters), native_before);
}

/// The sizes of the slices of all schedules that are long for devices, or of the others.
std::set<std::size_t> slices(const Situation& situation, std::size_t bytes, bool long_ones) {
  std::set<std::size_t> sizes;
  for (const Candidate& candidate : candidates(situation, bytes))
    if (candidate.kind == Candidate::Kind::schedule && candidate.long_slices == long_ones)
      sizes.insert(candidate.slice_bytes);
  return sizes;
}

TEST(Choice, HasLongSlicesForVectorsOnDevicesBesideTheOthers) {
  using Sizes = std::set<std::size_t>;
  for (const auto& factors : {std::vector{4}, {4, 2}}) {
    Situation situation = cluster(factors);
    situation.wire_bytes = wire_bytes_for(0);
    const Sizes usual = slices(situation, 64 * mebibyte, false);
    EXPECT_TRUE(slices(situation, 64 * mebibyte, true).empty());
    situation.on_devices = true;
    EXPECT_EQ(slices(situation, 64 * mebibyte, true), Sizes{8 * mebibyte});
    EXPECT_EQ(slices(situation, 64 * mebibyte, false), usual);
    EXPECT_EQ(slices(situation, 3 * mebibyte, true), (Sizes{256 << 10, mebibyte}));
    EXPECT_EQ(slices(situation, 16 * mebibyte, true), (Sizes{2 * mebibyte, 8 * mebibyte}));
    EXPECT_TRUE(slices(situation, 65536, true).empty()) << "the others hold all of it";
  }
}

TEST(Choice, PrefersFewLongSlicesWhereRanksOfANodeShareCores) {
  const auto best = [](Situation situation, double crowding, std::size_t bytes) {
    situation.job.crowding = crowding;
    std::string name;
    for (const Candidate& candidate : candidates(situation, bytes))
      if (name.empty() && candidate.kind == Candidate::Kind::schedule) name = candidate.name();
    return name;
  };
  for (const std::size_t bytes : {mebibyte / 2, mebibyte, 4 * mebibyte, 64 * mebibyte}) {
    for (const double crowding : {1.5, 2.0, 8.0})
      EXPECT_TRUE(contains(best(one_node(4), crowding, bytes), "slice 512K window 2")) << crowding << ", " << bytes;
    EXPECT_TRUE(contains(best(one_node(5), 2.5, bytes), "slice 512K window 2")) << bytes;
    EXPECT_TRUE(contains(best(one_node(6), 3, bytes), "slice 512K window 1")) << bytes;
    EXPECT_TRUE(contains(best(one_node(4), 1, bytes), "K window 4")) << bytes;
    EXPECT_FALSE(contains(best(one_node(4), 1, bytes), "512K")) << bytes;
    EXPECT_FALSE(contains(best(one_node(2), 2, bytes), "512K")) << bytes;
    Options options;
    options.slice = mebibyte;
    EXPECT_TRUE(contains(choose(one_node(4), options, size_class(64 * mebibyte)).chosen.name(), "slice 1M window 4"))
        << "cores enough, and a slice that was asked for";
    Situation on_devices = one_node(4);
    on_devices.on_devices = true;
    on_devices.job.crowding = 2;
    EXPECT_EQ(slices(on_devices, bytes, false).count(512 << 10), 0U) << bytes;
  }
}

TEST(Choice, HasTheSlicesThatAreAskedForOnDevicesToo) {
  Situation situation = cluster({4});
  situation.on_devices = true;
  Options options;
  options.slice = 65536;
  for (const Candidate& candidate : choose(situation, options, size_class(64 * mebibyte)).runners_up)
    EXPECT_TRUE(candidate.kind != Candidate::Kind::schedule || candidate.slice_bytes == 65536) << candidate.name();
}

TEST(Choice, LeavesNoCallToAnMpiLibraryThatIsToRefuseIt) {
  Situation situation = cluster({4});
  Options options;
  const auto has_native = [&] {
    const Choice choice = choose(situation, options, size_class(65536));
    const auto is_native = [](const Candidate& candidate) { return candidate.kind == Candidate::Kind::native; };
    return is_native(choice.chosen) || std::any_of(choice.runners_up.begin(), choice.runners_up.end(), is_native);
  };
  EXPECT_TRUE(has_native());
  situation.native_is_refused = true;
  EXPECT_FALSE(has_native());
  options.algorithm = "native";
  EXPECT_TRUE(has_native()) << "it was asked for";
}

TEST(Depths, AreTriedOnBothSidesOfWhatThereIs) {
  using Depths = std::vector<std::uint64_t>;
  constexpr std::size_t slice = std::size_t{1} << 20;
  EXPECT_EQ(depths_beside(4, slice, 100 * slice), (Depths{2, 8}));
  EXPECT_EQ(depths_beside(8, slice / 2, 100 * slice), (Depths{4, 16}));
  EXPECT_EQ(depths_beside(1, slice, 100 * slice), Depths{2});
  EXPECT_EQ(depths_beside(16, slice / 8, 100 * slice), Depths{8}) << "more than 16 slices";
  EXPECT_EQ(depths_beside(4, 2 * slice, 100 * slice), Depths{2}) << "more than 8 MiB";
  EXPECT_EQ(depths_beside(4, slice, 4 * slice), Depths{2}) << "there are no more";
  EXPECT_EQ(depths_beside(4, slice, 4 * slice + 1), (Depths{2, 8}));
  EXPECT_EQ(depths_beside(4, slice, 2 * slice), Depths{}) << "two is all that four or two let be in flight";
  EXPECT_EQ(depths_beside(4, slice, 1), Depths{});
}

TEST(Choice, MakesWireMessagesThatNeedNoRendezvous) {
  EXPECT_EQ(wire_bytes_for(0), std::size_t{24} << 10); // no limit
  EXPECT_EQ(wire_bytes_for(std::size_t{1} << 20), std::size_t{24} << 10);
  EXPECT_EQ(wire_bytes_for(8192), 4096U);
}

TEST(Choice, GoesRackByRackForLongVectorsBehindNarrowUplinks) {
  const Situation situation = two_racks();
  const Choice choice = choose(situation, Options{}, size_class(std::size_t{8} << 20));
  ASSERT_EQ(choice.chosen.kind, Candidate::Kind::schedule);
  EXPECT_FALSE(choice.chosen.plain) << choice.chosen.name();
  EXPECT_EQ(choice.chosen.composition.levels.size(), 3U);
  // The uplink carries each byte once each way (two racks: 2 (2-1)/2), and nothing is faster than that.
  EXPECT_GE(choice.chosen.seconds, 8.0 * (1 << 20) / 59e6);
  EXPECT_LE(choice.chosen.seconds, 1.3 * 8.0 * (1 << 20) / 59e6);
}

TEST(Choice, HasTheWaysWithoutRacksAmongItsCandidates) {
  const Situation situation = two_racks();
  const Choice choice = choose(situation, Options{}, size_class(8));
  std::size_t plain = choice.chosen.plain ? 1 : 0;
  for (const Candidate& candidate : choice.runners_up)
    plain += candidate.plain ? 1 : 0;
  EXPECT_GT(plain, 0U);
}

TEST(Model, LetsAllRanksOfARackShareItsUplink) {
  Situation situation = two_racks();
  EXPECT_EQ(situation.job.ranks_per_rack, 4);
  EXPECT_NEAR(situation.plain->crossing, 2.0 / 3, 1e-9); // two of three other nodes are in the other rack
  EXPECT_EQ(situation.job.crossing, 0);
}

// Two racks of two nodes. A leader's card sends its rack's sum to the other rack and the result to the other node, and
// takes as much; the card of the node that leads nothing sends once, and takes once.
TEST(Model, KnowsThatCardsSendAndTakeAtOnceAndThatOnlyLeadersDoBothTwice) {
  Situation situation = two_racks();
  situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)].per_byte = 1e-12;
  const auto slices_over_a_card = [&](const char* ways) {
    const auto composition = hier::composition_from(ways, situation.job.hierarchy);
    EXPECT_TRUE(composition) << ways;
    Costs costs;
    return predict(situation.job, *composition, 64 * mebibyte, mebibyte, situation.parameters, costs).slowest * 118e6 /
           mebibyte;
  };
  EXPECT_NEAR(slices_over_a_card("direct.leader+direct.leader+recursive_doubling.exchange"), 2, 1e-9);
  EXPECT_NEAR(slices_over_a_card("direct.leader+double_binary_tree.leader+recursive_doubling.exchange"), 2, 1e-9);
  EXPECT_NEAR(slices_over_a_card("direct+direct+recursive_doubling.exchange"), 1.5, 1e-9)
      << "half of it to the other node and back, and two quarters to the other rack";
}

} // namespace
} // namespace strata::tune
