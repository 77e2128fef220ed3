// SPDX-License-Identifier: BSD-3-Clause
// What a context does when it is told of other links between its nodes, and when a way takes another time than it did.
#include "delaying_transport.h"
#include "new_folder.h"
#include "thread_bootstrap.h"
#include "vectors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <random>

namespace strata::comm {

/// Takes the place of a probe, and looks at what a context keeps.
class ContextOfLinks {
public:
  static constexpr std::int64_t elements = 20000; ///< of float32
  static constexpr std::size_t bytes = 4 * elements;
  static constexpr std::int64_t many = 300000;

  explicit ContextOfLinks(Context& context) : context_(context) {}
  /// Calls are of so many elements from now on.
  void use(std::int64_t count) {
    count_ = count;
    buffers_.reset();
  }

  /// As if measured: thin uplinks of racks, by node.
  void adopt(const std::vector<std::int32_t>& rack_of_node) {
    const tune::Situation& known = context_.situation_;
    const topo::Hierarchy plain = known.plain ? known.plain->hierarchy : known.job.hierarchy;
    context_.adopt_links(topo::with_racks(plain, context_.facts_, rack_of_node), 50e-6, 1e9, 1e8);
  }
  void call() {
    if (!buffers_) prepare();
    std::memset(buffers_->output(), 0x5a, wanted_.size());
    EXPECT_EQ(context_.all_reduce({buffers_->input(), buffers_->output(), count_, element, operation}), Outcome::done);
    EXPECT_EQ(vectors::difference(wanted_, buffers_->output(), sizeof(float)), "") << "on rank " << context_.rank();
    EXPECT_TRUE(buffers_->guards_hold()) << "on rank " << context_.rank();
  }
  void call_until_decided() {
    call();
    call_while_on_trial();
  }
  void call_while_on_trial() {
    for (int calls = 0; context_.on_trial(bytes_of_call()) && calls < 40000; ++calls)
      call();
    EXPECT_FALSE(context_.on_trial(bytes_of_call()));
  }
  /// As if a call of each way on trial had been predicted to take so long.
  void predict(double seconds) {
    for (Context::Way& way : decision().trial->ways)
      way.predicted = seconds;
  }
  /// After that the next call begins a look, and sees another time.
  void change_time() {
    decision().way.seconds = 1e-12;
    decision().review->calls_before = 0;
  }
  bool rests() { return decision().trial && decision().trial->trial.rests(); }
  /// The same for the way that a trial rests with, which seemed to take `seconds`.
  void change_time_in_rest(double seconds) {
    tune::Trial& trial = decision().trial->trial;
    trial.rest_first(trial.ahead(), 1); // long enough, whatever the clock said
    Context::watched_way(decision()).seconds = seconds;
    decision().review->calls_before = 0;
  }
  /// Of a call after another size's found a peer gone.
  Outcome outcome_after_a_loss() {
    EXPECT_EQ(context_.give_up(), Outcome::peer_lost);
    return context_.all_reduce({buffers_->input(), buffers_->output(), count_, element, operation});
  }
  void set_reviewed(std::uint32_t times) { decision().reviewed = times; }

  std::size_t ways_on_trial() { return decision().trial->ways.size(); }
  /// By name, in the order in which they lost; the winner first.
  std::vector<std::string> ways_tried() {
    std::vector<std::string> names{decision().way.name};
    for (const Context::Way& way : decision().others)
      names.push_back(way.name);
    return names;
  }

  bool will_measure() const { return context_.probe_ != nullptr; }
  std::size_t plans() const { return context_.plans_.size(); }
  std::uint64_t calls_before_review() { return decision().review ? decision().review->calls_before : 0; }

private:
  static constexpr type::Element element = type::Element::float32;
  static constexpr type::Operation operation = type::Operation::sum;

  /// Once for all calls of a trial, of which there may be thousands.
  void prepare() {
    buffers_.emplace(vectors::contribution(element, operation, context_.rank(), count_, 3),
                     vectors::Buffers::Place::apart);
    wanted_ = vectors::reduction(element, operation, context_.ranks(), count_, 3);
  }
  std::size_t bytes_of_call() const { return 4 * static_cast<std::size_t>(count_); }
  Context::Decision& decision() { return context_.decisions_[tune::size_class(bytes_of_call())]; }

  Context& context_;
  std::int64_t count_ = elements;
  std::optional<vectors::Buffers> buffers_;
  vectors::Bytes wanted_;
};

namespace {

constexpr int nodes = 4; ///< of a rank each
const std::vector<std::int32_t> by_halves{0, 0, 1, 1}, by_parity{0, 1, 0, 1}, none{0, 0, 0, 0};

Options options_of_nodes() {
  Options options = ThreadJob::options_for_tests();
  options.transports = "delaying";
  options.tune = Tune::online;
  options.probe = 0;
  return options;
}

/// body(links, context) on every rank of a job whose ranks share no memory.
template <typename Body>
void on_nodes(Body body, const Options& options = options_of_nodes()) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  delaying::Office office(seed);
  const auto make = [&](const Options&) -> Result<std::unique_ptr<transport::Transport>> {
    return std::unique_ptr<transport::Transport>(std::make_unique<delaying::Transport>(office));
  };
  ThreadJob job(nodes, options, {{"delaying", make}});
  job.run_in_context([&](Context& context) {
    ContextOfLinks links(context);
    body(links, context);
  });
  for (const std::string& failure : job.failures)
    EXPECT_EQ(failure, "");
  EXPECT_EQ(office.complaints(), "");
}

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

TEST(ContextOfNodes, TriesAllWaysAnewWhenTwoLooksSeeAnotherTime) {
  on_nodes([](ContextOfLinks& links, Context& context) {
    links.call_until_decided();
    links.change_time();
    constexpr int look = 4, between = 8;
    for (int calls = 0; calls < look + between + look; ++calls) {
      EXPECT_FALSE(context.on_trial(ContextOfLinks::bytes)) << calls;
      links.call();
    }
    EXPECT_TRUE(context.on_trial(ContextOfLinks::bytes));
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
    const std::size_t ways = links.ways_on_trial();
    links.change_time_in_rest(1e-12);
    constexpr int look = 4, between = 8;
    for (int calls = 0; calls < look + between + look; ++calls) {
      EXPECT_TRUE(links.rests()) << calls;
      links.call();
    }
    EXPECT_FALSE(links.rests());
    EXPECT_EQ(links.ways_on_trial(), ways) << "dropped or not";
  });
}

TEST(ContextOfNodes, GoesOnRestingWithAWayThatHasBecomeFaster) {
  in_a_rest([](ContextOfLinks& links, Context&) {
    links.change_time_in_rest(1);
    for (int calls = 0; calls < 2 * 4 + 64; ++calls) {
      links.call();
      EXPECT_TRUE(links.rests()) << calls;
    }
  });
}

TEST(ContextOfNodes, IsLostForGoodWhenAPeerIsLostInARest) {
  in_a_rest([](ContextOfLinks& links, Context&) { EXPECT_EQ(links.outcome_after_a_loss(), Outcome::peer_lost); });
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
    EXPECT_GE(links.calls_before_review(), 64u << 6);
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
