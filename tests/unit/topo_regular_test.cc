// SPDX-License-Identifier: BSD-3-Clause
// Regular hierarchies: found where they are, the same groups as the lists say, and planning a rank of a job of any size
// costs what the rank itself has to do.
#include "allocations.h"
#include "hierarchies.h"
#include "topo/regular.h"
#include "tune/choice.h"

#include <gtest/gtest.h>

namespace strata::topo {
namespace {

using namespace hierarchies;

/// The places of the machine given to ranks in this order.
Hierarchy by_node(int nodes, int cores) {
  Hierarchy hierarchy;
  hierarchy.ranks = nodes * cores;
  std::vector<std::int64_t> node, all;
  for (int rank = 0; rank < hierarchy.ranks; ++rank) {
    node.push_back(rank % nodes);
    all.push_back(0);
  }
  hierarchy.levels = {level_of("node", node), level_of("cluster", all)};
  return hierarchy;
}

std::string text_of(const Hierarchy& hierarchy) {
  const auto regular = regular_from(hierarchy);
  if (!regular) return "none";
  std::string text;
  for (const RegularLevel& level : regular->levels)
    text += fmt::format("{}@{} ", level.members, level.stride);
  return text;
}

TEST(RegularHierarchy, IsFoundBySlotAndByNode) {
  EXPECT_EQ(text_of(hierarchy(factors({4, 3}))), "4@1 3@4 ");
  EXPECT_EQ(text_of(hierarchy(factors({2, 4, 3, 5}))), "2@1 4@2 3@8 5@24 ");
  EXPECT_EQ(text_of(by_node(3, 4)), "4@3 3@1 ");
  EXPECT_EQ(text_of(hierarchy(factors({7}))), "7@1 ");
  EXPECT_EQ(text_of(Hierarchy{}), "") << "a rank alone";
}

TEST(RegularHierarchy, IsNoneWhereNodesDifferOrRanksAreMixed) {
  EXPECT_EQ(text_of(hierarchy(nodes({3, 2}))), "none");
  EXPECT_EQ(text_of(hierarchy(nodes({2, 2, 1, 3}))), "none") << "as many ranks as even nodes would have";
  Hierarchy mixed = hierarchy(factors({2, 2, 2}));
  const std::vector<std::int64_t> pairs = {0, 0, 1, 2, 1, 2, 3, 3};
  mixed.levels[0] = level_of("node", pairs);
  EXPECT_EQ(text_of(mixed), "none");
  Hierarchy half_by_node = hierarchy(factors({2, 3}));
  half_by_node.levels[0] = level_of("node", std::vector<std::int64_t>{0, 0, 1, 2, 1, 2});
  EXPECT_EQ(text_of(half_by_node), "none");
}

TEST(RegularHierarchy, HasTheGroupsOfTheLists) {
  for (const Hierarchy& lists :
       {hierarchy(factors({2, 3, 4})), by_node(5, 4), by_node(2, 7), hierarchy(factors({9}))}) {
    const auto regular = regular_from(lists);
    ASSERT_TRUE(regular);
    for (std::int32_t rank = 0; rank < lists.ranks; ++rank)
      for (std::size_t l = 0; l < lists.levels.size(); ++l) {
        const auto group = regular->group(rank, l);
        EXPECT_EQ(group[static_cast<std::size_t>(regular->place(rank, l))], rank);
        EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
        for (const std::int32_t member : group) {
          const auto index = static_cast<std::size_t>(member);
          EXPECT_EQ(lists.levels[l].group_of[index], lists.levels[l].group_of[static_cast<std::size_t>(rank)]);
          EXPECT_EQ(l > 0 && member != rank &&
                        lists.levels[l - 1].group_of[index] ==
                            lists.levels[l - 1].group_of[static_cast<std::size_t>(rank)],
                    false)
              << "rank " << rank << ", level " << l;
        }
      }
  }
}

TEST(RegularHierarchy, HasTheOutlineOfTheLists) {
  const Hierarchy lists = hierarchy(factors({2, 3, 4}));
  const Hierarchy outline = outline_of(*regular_from(lists));
  ASSERT_EQ(outline.levels.size(), lists.levels.size());
  for (std::size_t l = 0; l < lists.levels.size(); ++l) {
    EXPECT_EQ(outline.levels[l].groups, lists.levels[l].groups);
    EXPECT_EQ(outline.levels[l].link, lists.levels[l].link);
  }
}

TEST(RegularHierarchy, HasTheShapeOfTheLists) {
  for (const Hierarchy& lists : {hierarchy(factors({2, 3, 4})), by_node(5, 4)}) {
    std::vector<RankFacts> facts(static_cast<std::size_t>(lists.ranks));
    Regular regular = *regular_from(lists);
    for (RegularLevel& level : regular.levels)
      level.link = &level == &regular.levels.front() ? LinkKind::shared_memory : LinkKind::network;
    for (std::size_t rank = 0; rank < facts.size(); ++rank)
      facts[rank].memory_group = lists.levels.front().group_of[rank];
    const std::vector<std::uint32_t> cores(facts.size(), 64);
    const tune::JobShape from_lists = tune::shape_of(lists, facts, cores), shape = tune::shape_of(regular);
    EXPECT_EQ(shape.members, from_lists.members);
    EXPECT_EQ(shape.nodes, from_lists.nodes);
    EXPECT_EQ(shape.ranks_per_node, from_lists.ranks_per_node);
  }
}

// ---- planning a rank of a large job
// -----------------------------------------------------------------------------------

/// By slot, innermost level first; the first `in_memory` levels are of a node.
Regular job_of(const std::vector<std::int32_t>& members, std::size_t in_memory) {
  Regular regular;
  for (std::size_t l = 0; l < members.size(); ++l) {
    const LinkKind link = l < in_memory ? LinkKind::shared_memory : LinkKind::network;
    regular.levels.push_back({fmt::format("level{}", l), link, members[l], regular.ranks});
    regular.ranks *= members[l];
  }
  return regular;
}

struct Planned {
  std::uint64_t bytes = 0; ///< allocated on the way, freed or not
  std::size_t steps = 0;
};

/// What a rank does until it has its program: forced to `algorithm`, or as it chooses itself.
Planned plan(const Regular& job, std::int32_t rank, std::size_t bytes, const std::string& algorithm = "") {
  const std::uint64_t before = allocations::bytes_of_this_thread();
  tune::Situation situation;
  situation.job = tune::shape_of(job);
  situation.parameters = tune::default_parameters();
  situation.native_possible = false;
  Options options;
  options.algorithm = algorithm;
  const tune::Choice choice = tune::choose(situation, options, tune::size_class(bytes));
  const sched::Program program = hier::AllReduce(job, choice.chosen.composition).program(rank);
  return {allocations::bytes_of_this_thread() - before, program.steps.size()};
}

TEST(Planning, OfAMillionRanksTakesTenMebibytesAtMost) {
  const std::vector<std::pair<std::vector<std::int32_t>, std::size_t>> jobs = {
      {{8, 2, 25, 50, 50}, 2}, {{64, 125, 125}, 1}, {{8, 8, 15625}, 2}, {{100, 100, 100}, 1}};
  for (const auto& [members, in_memory] : jobs) {
    const Regular job = job_of(members, in_memory);
    ASSERT_EQ(job.ranks, 1000000);
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{32} << 10, std::size_t{64} << 20})
      EXPECT_LE(plan(job, job.ranks / 2 + 1, bytes).bytes, std::uint64_t{10} << 20)
          << fmt::format("{}, {} bytes", fmt::join(members, "x"), bytes);
  }
}

TEST(Planning, SendsNoTenThousandsOfMessagesForASlice) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20, std::size_t{1} << 30}) {
    const Regular job = job_of({64, 15625}, 1);
    EXPECT_LE(plan(job, 77, bytes).steps, 10000U) << bytes << " bytes";
  }
}

TEST(Planning, BuildsTheStepsOfOneRankOnly) {
  // Two rounds each way in the node and among the nodes of a rack, and 5 or 10 each way among the racks.
  const std::string algorithm = "recursive_halving+recursive_halving+recursive_halving";
  const Planned small = plan(job_of({4, 4, 32}, 1), 77, 1 << 20, algorithm);
  const Planned large = plan(job_of({4, 4, 1024}, 1), 77, 1 << 20, algorithm);
  EXPECT_EQ(small.steps, (2 + 2 + 5) * 4U) << "a send and a reduction, and a send and a receive, for each round";
  EXPECT_EQ(large.steps, (2 + 2 + 10) * 4U);
}

TEST(Planning, GrowsWithTheGroupsOfARankAndNotWithTheJob) {
  const std::string algorithm = "direct+direct+direct+direct";
  const Planned small = plan(job_of({8, 8, 8, 8}, 1), 5, 1 << 20, algorithm);
  const Planned large = plan(job_of({32, 32, 32, 32}, 1), 5, 1 << 20, algorithm); // 256 times the ranks
  // 2(p-1) sends and receives, a reduction, and a send to all: 2p at each level.
  EXPECT_EQ(small.steps, 4U * 2 * 8);
  EXPECT_EQ(large.steps, 4U * 2 * 32);
  EXPECT_LE(large.bytes, 16 * small.bytes);
}

TEST(Planning, OfRegularListsKeepsNothingByRank) {
  const Hierarchy lists = hierarchy(factors({16, 256}));
  const auto composition = *hier::composition_from("direct+recursive_doubling.exchange", lists);
  const std::uint64_t before = allocations::bytes_of_this_thread();
  const hier::AllReduce all_reduce(lists, composition);
  EXPECT_LE(allocations::bytes_of_this_thread() - before, 1000U) << "for 4096 ranks";
  EXPECT_EQ(all_reduce.program(4000).ranks, 4096);
}

} // namespace
} // namespace strata::topo
