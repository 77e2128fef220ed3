// SPDX-License-Identifier: BSD-3-Clause
// What a context does when it is told of other links between its nodes, and when a way takes another time than it did.
#include "context_of_links.h"
#include "new_folder.h"

#include <algorithm>
#include <fstream>

namespace strata::comm {
namespace {

const std::vector<std::int32_t> by_halves{0, 0, 1, 1}, by_parity{0, 1, 0, 1}, none{0, 0, 0, 0};

TEST(ContextOfNodes, MakesNoPlanAnewWhenRacksComeBack) {
  on_nodes([](ContextOfLinks& links, Context& context) {
    links.adopt(by_halves);
    links.call();
    EXPECT_EQ(context.hierarchy().levels.size(), 2u);
    const std::size_t with_racks = links.plans();
    links.adopt(none);
    links.call();
    EXPECT_EQ(context.hierarchy().levels.size(), 1u);
    const std::size_t with_both = links.plans();
    for (int turn = 0; turn < 3; ++turn)
      for (const auto& racks : {by_halves, none}) {
        links.adopt(racks);
        links.call();
      }
    EXPECT_GT(with_racks, 0u);
    EXPECT_EQ(links.plans(), with_both);
  });
}

TEST(ContextOfNodes, MakesPlansOfTheirOwnForOtherRacks) {
  on_nodes([](ContextOfLinks& links, Context&) {
    links.adopt(by_halves);
    links.call();
    const std::size_t with_halves = links.plans();
    links.adopt(by_parity);
    links.call();
    EXPECT_GT(links.plans(), with_halves);
  });
}

TEST(ContextOfNodes, KeepsItsRacksWhenTheyHaveChangedOften) {
  on_nodes([](ContextOfLinks& links, Context& context) {
    for (int turn = 0; turn < 4; ++turn)
      for (const auto& racks : {by_halves, none}) {
        EXPECT_NE(context.hierarchy().levels.size(), racks == none ? 1u : 2u);
        links.adopt(racks);
        links.call();
      }
    const std::size_t plans = links.plans();
    links.adopt(by_parity);
    links.call();
    EXPECT_EQ(context.hierarchy().levels.size(), 1u);
    EXPECT_EQ(links.plans(), plans);
  });
}

TEST(ContextOfNodes, TriesAllWaysAnewWhenTwoLooksSeeAnotherTime) {
  on_nodes([](ContextOfLinks& links, Context& context) {
    links.call_until_decided();
    const auto is_decided = [&] { EXPECT_FALSE(context.on_trial(ContextOfLinks::bytes)); };
    links.change_time(10);
    links.call_for_a_look(is_decided);
    constexpr std::uint32_t between = 2;
    for (std::uint32_t calls = 0; calls < between + ContextOfLinks::calls_of_a_look; ++calls) {
      is_decided();
      links.call();
    }
    EXPECT_TRUE(context.on_trial(ContextOfLinks::bytes));
  });
}

/// Whatever slows calls down for a while, the second look is to come after it.
TEST(ContextOfNodes, LooksForTheSecondTimeAfterAWhile) {
  on_nodes([](ContextOfLinks& links, Context&) {
    links.call_until_decided();
    for (const auto& [seconds, calls] : {std::pair(1e-6, 50000u), std::pair(10.0, 2u)}) {
      links.change_time(seconds);
      links.call_for_a_look();
      EXPECT_NEAR(static_cast<double>(links.calls_before_review()), calls, 1) << seconds;
      EXPECT_EQ(links.calls_of_next_look(), tune::Look(seconds, ContextOfLinks::bytes, tune::Noise::network).calls());
    }
  });
}

/// body(links, context), in the rest after the glance of a trial.
template <typename Body>
void in_a_rest(Body body) {
  Options options = options_of_nodes();
  options.trial = 1;
  on_nodes(
      [&](ContextOfLinks& links, Context& context) {
        for (int calls = 0; !links.rests() && calls < 1000; ++calls)
          links.call();
        ASSERT_TRUE(links.rests());
        body(links, context);
      },
      options);
}

TEST(ContextOfNodes, TriesAllWaysAnewWhenTwoLooksOfARestSeeALongerTime) {
  in_a_rest([](ContextOfLinks& links, Context&) {
    const std::size_t ways = links.ways_known(); // the first rest may be one of a second trial
    links.change_time_in_rest(1e-12);
    for (int looks = 0; looks < 2; ++looks)
      links.call_for_a_look([&] { EXPECT_TRUE(links.rests()) << looks; });
    EXPECT_FALSE(links.rests());
    EXPECT_EQ(links.ways_on_trial(), ways) << "dropped or not";
  });
}

TEST(ContextOfNodes, GoesOnRestingWithAWayThatHasBecomeFaster) {
  in_a_rest([](ContextOfLinks& links, Context&) {
    links.change_time_in_rest(1);
    for (int looks = 0; looks < 3; ++looks)
      links.call_for_a_look([&] { EXPECT_TRUE(links.rests()) << looks; });
    EXPECT_TRUE(links.rests());
  });
}

TEST(ContextOfNodes, RestsByTheShareThatItWasGivenLast) {
  Options options = options_of_nodes();
  options.trial = 1;
  on_nodes(
      [](ContextOfLinks& links, Context& context) {
        EXPECT_FALSE(context.set_trial(0));
        EXPECT_FALSE(context.set_trial(101));
        EXPECT_TRUE(context.set_trial(100));
        bool has_rested = false;
        for (int calls = 0; calls == 0 || (context.on_trial(ContextOfLinks::bytes) && calls < 40000); ++calls) {
          links.call();
          has_rested |= links.rests();
        }
        EXPECT_FALSE(has_rested);
        EXPECT_TRUE(context.set_trial(1));
        links.use(ContextOfLinks::elements / 100);
        for (int calls = 0; !links.rests() && calls < 1000; ++calls)
          links.call();
        EXPECT_TRUE(links.rests());
      },
      options);
}

TEST(ContextOfNodes, IsLostForGoodWhenAPeerIsLostInARest) {
  in_a_rest([](ContextOfLinks& links, Context&) { EXPECT_EQ(links.outcome_after_a_loss(), Outcome::peer_lost); });
}

TEST(ContextOfNodes, HasARowOfTheWayThatWouldWin) {
  Options options = options_of_nodes();
  options.trial = 50;
  on_nodes(
      [](ContextOfLinks& links, Context&) {
        links.use(ContextOfLinks::elements / 100);
        links.call();
        bool was_in_row = false;
        for (int calls = 0; calls < 200000 && !(was_in_row && !links.is_in_row()); ++calls) {
          links.call();
          was_in_row |= links.is_in_row();
        }
        EXPECT_TRUE(was_in_row);
        EXPECT_FALSE(links.is_in_row());
      },
      options);
}

void expect_a_second_trial(ContextOfLinks& links, std::size_t at_first) {
  links.call_while_on_trial();
  const auto names = links.ways_tried();
  const auto first = names.begin() + 1, second = first + static_cast<std::ptrdiff_t>(at_first) - 1;
  EXPECT_GT(names.size(), at_first);
  EXPECT_LE(names.size(), 2 * at_first);
  const auto algorithm_of = [](const std::string& name) { return name.substr(0, name.find(" slice")); };
  for (auto later = second; later != names.end(); ++later)
    for (auto earlier = first; earlier != later; ++earlier)
      EXPECT_NE(algorithm_of(*later), algorithm_of(*earlier));
}

TEST(ContextOfNodes, TriesOtherAlgorithmsForShortCalls) {
  on_nodes([](ContextOfLinks& links, Context&) {
    links.call();
    expect_a_second_trial(links, links.ways_on_trial());
  });
}

TEST(ContextOfNodes, TriesOtherAlgorithmsWhenLongCallsTakeMuchLongerThanPredicted) {
  on_nodes([](ContextOfLinks& links, Context&) {
    links.use(ContextOfLinks::many);
    links.call();
    links.predict(1e-12);
    expect_a_second_trial(links, links.ways_on_trial());
  });
}

TEST(ContextOfNodes, TriesNoMoreWaysWhenLongCallsTakeWhatWasPredicted) {
  on_nodes([](ContextOfLinks& links, Context&) {
    links.use(ContextOfLinks::many);
    links.call();
    const std::size_t at_first = links.ways_on_trial();
    links.predict(1);
    links.call_while_on_trial();
    EXPECT_EQ(links.ways_tried().size(), at_first);
  });
}

TEST(ContextOfNodes, LooksAsSeldomAsBeforeWhenRacksChange) {
  on_nodes([](ContextOfLinks& links, Context&) {
    links.call_until_decided();
    links.set_reviewed(6);
    links.adopt(by_halves);
    links.call_until_decided();
    const double usual = std::max(2.0, 0.125 / links.seconds_of_way());
    EXPECT_EQ(links.calls_before_review(), static_cast<std::uint64_t>(usual) << 6);
  });
}

TEST(ContextOfNodes, MeasuresItsLinksUnlessATableDecides) {
  const std::filesystem::path folder = new_folder("strata-links");
  Options options = options_of_nodes();
  options.probe = 5;
  options.profile = "none";
  options.table = (folder / "table").string();
  std::ofstream(options.table) << "strata-table 1\nmachine\nabove ring slice=16K window=2\nend 2\n";
  for (const Tune tune : {Tune::online, Tune::file}) {
    options.tune = tune;
    on_nodes(
        [&](ContextOfLinks& links, Context& context) {
          EXPECT_EQ(context.warnings(), std::vector<std::string>{});
          EXPECT_EQ(links.will_measure(), tune == Tune::online);
        },
        options);
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace strata::comm
