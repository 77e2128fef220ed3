// SPDX-License-Identifier: BSD-3-Clause
// When a context measures its links again: because calls become slower, or because they never took what a profile lets
// expect.
#include "context_of_links.h"

namespace strata::comm {
namespace {

/// body(links, context), where links are measured when that is due.
template <typename Body>
void on_measuring_nodes(Body body) {
  Options options = options_of_nodes();
  options.probe = 5;
  options.profile = "none";
  on_nodes(body, options);
}

TEST(ContextOfNodes, MeasuresItsLinksAgainWhenCallsBecomeSlower) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.know_links();
    links.call_until_decided();
    EXPECT_FALSE(links.will_measure());
    links.change_time();
    links.call_for_two_looks();
    EXPECT_TRUE(links.will_measure());
  });
}

TEST(ContextOfNodes, MeasuresLinksThatAProfileToldWhenCallsBecomeSlower) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.adopt_profile(1e9);
    links.call_until_decided();
    EXPECT_FALSE(links.will_measure());
    links.change_time();
    links.call_for_two_looks();
    EXPECT_TRUE(links.will_measure());
  });
}

TEST(ContextOfNodes, MeasuresAllWhereAnEarlierJobEndedBeforeItHadTimedMessages) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.adopt_profile_of_links(Origin::earlier_job);
    EXPECT_TRUE(links.will_measure());
  });
}

TEST(ContextOfNodes, MeasuresNothingWhereSomebodyWroteAProfileOfLinksOnly) {
  for (const Origin origin : {Origin::site, Origin::file})
    on_measuring_nodes([&](ContextOfLinks& links, Context&) {
      links.adopt_profile_of_links(origin);
      EXPECT_FALSE(links.will_measure());
    });
}

TEST(ContextOfNodes, MeasuresNoLinksAgainWhenCallsBecomeFaster) {
  on_measuring_nodes([](ContextOfLinks& links, Context& context) {
    links.know_links();
    links.call_until_decided();
    links.change_time(1e3);
    links.call_for_two_looks();
    EXPECT_TRUE(context.on_trial(ContextOfLinks::bytes));
    EXPECT_FALSE(links.will_measure());
  });
}

/// On which long calls take minutes, by prediction.
constexpr double slow_card = 1e4;

TEST(ContextOfNodes, MeasuresItsLinksWhenAProfileLetsLongerCallsExpect) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.use(ContextOfLinks::many);
    links.adopt_profile(slow_card);
    links.call();
    EXPECT_TRUE(links.will_measure_after_trials());
  });
}

TEST(ContextOfNodes, MeasuresItsLinksWhenAProfileLetsShorterCallsExpect) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.use(ContextOfLinks::many);
    links.adopt_profile(slow_card);
    links.call();
    links.predict(1e-12);
    EXPECT_TRUE(links.will_measure_after_trials());
  });
}

TEST(ContextOfNodes, BelievesAProfileThatOneRoundContradicts) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.use(ContextOfLinks::many);
    links.adopt_profile(slow_card);
    links.call();
    links.call_until_compared();
    links.let_one_round_contradict();
    links.predict_what_was_measured();
    links.compare_again();
    links.predict(1e-12);
    links.compare_again();
    EXPECT_FALSE(links.will_measure()) << "no two rounds in a row";
    links.compare_again();
    EXPECT_TRUE(links.will_measure());
  });
}

TEST(ContextOfNodes, BelievesAProfileWhereLinksDoNotDecide) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.use(ContextOfLinks::many);
    links.adopt_profile(1e14);
    links.call();
    links.predict(1e-12);
    EXPECT_FALSE(links.will_measure_after_trials());
  });
}

TEST(ContextOfNodes, BelievesAProfileThatNamesASlowHostWhateverCallsTake) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.use(ContextOfLinks::many);
    links.adopt_profile(slow_card, "n1");
    links.call();
    EXPECT_FALSE(links.will_measure_after_trials());
  });
}

// A rank that was slow while links were measured, and only then.
TEST(ContextOfNodes, MeasuresItsLinksOnceMoreWhereCallsContradictItsOwnProbe) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.find_by_probe(slow_card);
    links.use(ContextOfLinks::many);
    links.call_until_compared();
    links.compare_twice();
    EXPECT_TRUE(links.will_measure());
    links.find_by_probe(slow_card); // the same again
    links.use(2 * ContextOfLinks::many);
    links.call_until_compared();
    links.compare_twice();
    EXPECT_FALSE(links.will_measure());
    EXPECT_FALSE(links.will_measure_after_trials());
  });
}

TEST(ContextOfNodes, HoldsItsProbeAgainstWaysThatWereTriedBefore) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.know_links();
    links.use(ContextOfLinks::many);
    links.call_until_compared();
    links.predict_what_was_measured();
    links.compare_twice();
    EXPECT_FALSE(links.will_measure()) << "nothing is known of the links";
    links.find_by_probe(slow_card);
    links.compare_twice();
    EXPECT_TRUE(links.will_measure());
  });
}

// Minutes, by prediction.
TEST(ContextOfNodes, PaysForNoLinksByWhatCallsWerePredictedToTake) {
  on_measuring_nodes([](ContextOfLinks& links, Context&) {
    links.use(ContextOfLinks::many);
    links.adopt_profile(slow_card);
    links.begin_to_measure();
    links.call();
    EXPECT_TRUE(links.will_measure());
    EXPECT_FALSE(links.measures_next());
  });
}

} // namespace
} // namespace strata::comm
