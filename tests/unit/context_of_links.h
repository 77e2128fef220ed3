// SPDX-License-Identifier: BSD-3-Clause
// Contexts of nodes that are not there, and what a test knows and changes of their links and times.
#pragma once

#include "delaying_transport.h"
#include "probed_network.h"
#include "thread_bootstrap.h"
#include "vectors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>

namespace strata::comm {

/// Takes the place of a probe, and looks at what a context keeps.
class ContextOfLinks {
public:
  static constexpr int nodes = 4;                 ///< of a rank each
  static constexpr std::int64_t elements = 20000; ///< of float32
  static constexpr std::size_t bytes = 4 * elements;
  static constexpr std::int64_t many = 300000;
  static constexpr std::uint32_t calls_of_a_look = 4; ///< at long ones

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
    context_.adopt_links(topo::with_racks(plain, context_.facts_, rack_of_node), {50e-6, 1e9, 0, 0, 1e8});
  }
  /// As if an earlier job had left it: so many bytes per second of each card; half of that of `slow`, if it is a host.
  void adopt_profile(double bandwidth, const std::string& slow = {}) {
    adopt_profile(bandwidth, slow, Origin::earlier_job, {50e-6, 51e-6, 60e-6, 90e-6, 320e-6});
    EXPECT_FALSE(will_measure());
  }
  /// As if that job had ended before it had timed messages, or somebody had written it without.
  void adopt_profile_of_links(Origin origin) { adopt_profile(1e9, {}, origin, {}); }
  void adopt_profile(double bandwidth, const std::string& slow, Origin origin, const tune::SecondsBySize& messages) {
    tune::Profile profile;
    profile.measured = 1'790'000'000;
    profile.transport = "delaying";
    for (std::int32_t rank = 0; rank < context_.ranks(); ++rank)
      profile.hosts.push_back(fmt::format("n{}", rank));
    profile.latency = 50e-6;
    profile.bandwidth = bandwidth;
    if (!slow.empty()) profile.slow.emplace_back().host = slow;
    for (tune::SlowHost& host : profile.slow)
      host.bandwidth = 0.5;
    profile.messages[network_link].strata = messages;
    context_.hosts_ = profile.hosts; // they are all one in truth
    context_.adopt_profile({to_text(profile), origin, {}});
    EXPECT_DOUBLE_EQ(context_.situation_.parameters.links[network_link].per_byte, 1 / bandwidth)
        << "it was not adopted";
  }
  /// As if this job's probe had found so many bytes per second of each card.
  void find_by_probe(double bandwidth) {
    NetworkModel network(nodes, bandwidth, 0.01, 1);
    context_.probe_ = std::make_unique<tune::Probe>(tune::probed(network));
    context_.conclude_links();
    context_.probe_.reset();
    EXPECT_NEAR(context_.situation_.parameters.links[network_link].per_byte, 1 / bandwidth, 0.1 / bandwidth);
  }
  void begin_to_measure() { context_.prepare_probe(); }
  /// Whether a round is paid for.
  bool measures_next() const { return context_.probe_ && context_.probe_->due(); }
  /// As if they had been measured to the end.
  void know_links() { context_.probe_.reset(); }
  void call() {
    if (!buffers_) prepare();
    std::memset(buffers_->output(), 0x5a, wanted_.size());
    EXPECT_EQ(context_.all_reduce({buffers_->input(), buffers_->output(), count_, element, operation}), Outcome::done);
    EXPECT_EQ(vectors::difference(wanted_, buffers_->output(), sizeof(float)), "") << "on rank " << context_.rank();
    EXPECT_TRUE(buffers_->guards_hold()) << "on rank " << context_.rank();
  }
  /// Begins a trial where one is over, as a look at calls may, but lets the links be.
  void call_on_trial() {
    if (!context_.on_trial(bytes_of_call()) && decision().way.path != Context::Path::undecided)
      context_.try_anew(decision(), bytes_of_call());
    call();
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
  /// As if what was measured so far had been predicted.
  void predict_what_was_measured() {
    if (!decision().trial) return;
    for (Context::Way& way : decision().trial->ways)
      way.predicted = way.seconds;
  }
  /// Calls until the links are to be measured, which they then are not yet, or two trials are over: one alone may end
  /// with its first round, where a busy machine lets all ways but one take long.
  bool will_measure_after_trials() {
    int calls = 0;
    for (int trials = 0; trials < 2 && !will_measure() && calls < 40000; ++trials)
      do {
        call_on_trial();
      } while (++calls < 40000 && !will_measure() && context_.on_trial(bytes_of_call()));
    return will_measure();
  }
  void call_until_compared() {
    const auto has_compared = [&] { return decision().trial && decision().trial->trial.has_compared(); };
    for (int calls = 0; !has_compared() && calls < 1000; ++calls)
      call_on_trial();
    ASSERT_TRUE(has_compared());
  }
  /// As if one round, and no other, had contradicted what is known, however many a disturbed machine has compared.
  void let_one_round_contradict() {
    context_.probe_.reset();
    context_.profile_doubts_ = 1;
  }
  /// As if another round had been compared, which found the same.
  void compare_again() {
    if (!will_measure()) context_.hold_against_profile(*decision().trial, bytes_of_call());
  }
  void compare_twice() {
    compare_again();
    compare_again();
  }
  /// As if calls had taken so long; a look sees another time.
  void change_time(double seconds = 1e-12) { decision().way.seconds = seconds; }
  /// As many calls as a look at long ones has, beginning with the next one; check() before each.
  template <typename Check>
  void call_for_a_look(Check check) {
    decision().review->look = tune::Look(tune::long_call_seconds, bytes, context_.noise());
    decision().review->calls_before = 0;
    for (std::uint32_t calls = 0; calls < calls_of_a_look; ++calls) {
      check();
      call();
    }
  }
  void call_for_a_look() {
    call_for_a_look([] {});
  }
  void call_for_two_looks() {
    call_for_a_look();
    call_for_a_look();
  }
  bool is_in_row() { return decision().trial && decision().trial->trial.is_in_row(); }
  bool rests() { return decision().trial && decision().trial->trial.rests(); }
  /// The same for the way that a trial rests with, which seemed to take `seconds`.
  void change_time_in_rest(double seconds) {
    tune::Trial& trial = decision().trial->trial;
    trial.rest_first(trial.ahead(), 1); // long enough, whatever the clock said
    Context::watched_way(decision()).seconds = seconds;
  }
  /// Of a call after another size's found a peer gone.
  Outcome outcome_after_a_loss() {
    EXPECT_EQ(context_.give_up(), Outcome::peer_lost);
    return context_.all_reduce({buffers_->input(), buffers_->output(), count_, element, operation});
  }
  void set_reviewed(std::uint32_t times) { decision().reviewed = times; }

  std::size_t ways_on_trial() { return decision().trial->ways.size(); }
  /// With those that have lost an earlier trial.
  std::size_t ways_known() { return ways_on_trial() + decision().others.size(); }
  /// By name, in the order in which they lost; the winner first.
  std::vector<std::string> ways_tried() {
    std::vector<std::string> names{decision().way.name};
    for (const Context::Way& way : decision().others)
      names.push_back(way.name);
    return names;
  }

  bool will_measure() const { return context_.probe_ != nullptr; }
  std::size_t plans() const { return context_.plans_.size(); }
  double seconds_of_way() { return decision().way.seconds; }
  std::uint32_t calls_of_next_look() { return decision().review->look.calls(); }
  std::uint64_t calls_before_review() { return decision().review ? decision().review->calls_before : 0; }

private:
  static constexpr type::Element element = type::Element::float32;
  static constexpr type::Operation operation = type::Operation::sum;
  static constexpr auto network_link = static_cast<std::size_t>(topo::LinkKind::network);

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

inline Options options_of_nodes() {
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
  const auto make = [&](const Options&, Device*) -> Result<std::unique_ptr<transport::Transport>> {
    return std::unique_ptr<transport::Transport>(std::make_unique<delaying::Transport>(office));
  };
  ThreadJob job(ContextOfLinks::nodes, options, {{"delaying", make}});
  job.run_in_context([&](Context& context) {
    ContextOfLinks links(context);
    body(links, context);
  });
  for (const std::string& failure : job.failures)
    EXPECT_EQ(failure, "");
  EXPECT_EQ(office.complaints(), "");
}

} // namespace strata::comm
