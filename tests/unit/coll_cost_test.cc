// SPDX-License-Identifier: BSD-3-Clause
// What the rows of the registry say that they cost is counted in the programs that they generate.
#include "interpreter.h"
#include "programs.h"

#include <gtest/gtest.h>

#include <bit>

namespace strata::coll {
namespace {

using sched::Operand;
using sched::Program;
using sched::Step;

/// A stage whose range every member count up to 64 divides without remainder in units.
Stage divisible_stage(int members) {
  const sched::Unit begin = 12345;
  return {{begin, begin + (sched::Unit{members} << 30)}, sched::input, 1};
}

/// Counts of one member, all but the rounds.
Cost count(const Program& program, const Stage& stage) {
  Cost cost;
  for (const Step& step : program.steps) {
    const double fraction = static_cast<double>(step.range.end - step.range.begin) /
                            static_cast<double>(stage.range.end - stage.range.begin);
    const auto receivers = static_cast<double>(step.peers.size());
    if (step.kind == sched::Kind::send) {
      cost.messages += receivers;
      cost.sent += receivers * fraction;
      cost.published += fraction;
    }
    for (const Operand& operand : step.operands)
      if (operand.kind == Operand::Kind::message) cost.received += fraction;
    if (step.kind == sched::Kind::reduce) cost.reduced += static_cast<double>(step.operands.size()) * fraction;
    if (step.kind == sched::Kind::copy) cost.copied += fraction;
  }
  return cost;
}

Cost busiest(const std::vector<Program>& programs, const Stage& stage) {
  Cost most;
  for (const Program& program : programs) {
    const Cost one = count(program, stage);
    for (auto field : {&Cost::messages, &Cost::sent, &Cost::published, &Cost::received, &Cost::reduced, &Cost::copied})
      most.*field = std::max(most.*field, one.*field);
  }
  return most;
}

int rounds_of(const std::vector<Program>& programs) {
  interpreter::Interpretation run(programs, interpreter::Memory::in_place, interpreter::Sends::mixed, 1);
  const auto own = [&](int rank, sched::Unit) { return run.expressions().leaf(rank); };
  return run({own, own}).rounds;
}

template <typename Body>
void for_each_form_of_members(Body body) {
  for (const Algorithm& algorithm : registry()) {
    const std::pair<const char*, Form> forms[] = {{"reduce_scatter", algorithm.reduce_scatter},
                                                  {"all_gather", algorithm.all_gather},
                                                  {"all_reduce", algorithm.all_reduce},
                                                  {"reduce", algorithm.reduce},
                                                  {"broadcast", algorithm.broadcast}};
    for (const auto& [name, form] : forms)
      for (int members = 2; form && members <= 64; ++members) {
        SCOPED_TRACE(fmt::format("{} {}, {} members", algorithm.name, name, members));
        body(algorithm, form, members);
      }
  }
}

TEST(FlatAlgorithmCosts, AreTheCountsOfTheBusiestMember) {
  for_each_form_of_members([](const Algorithm&, const Form& form, int members) {
    const Stage stage = divisible_stage(members);
    const Cost told = form.cost(members);
    const Cost counted = busiest(programs_of(form, members, stage), stage);
    EXPECT_NEAR(told.messages, counted.messages, 1e-9);
    EXPECT_NEAR(told.sent, counted.sent, 1e-9);
    EXPECT_NEAR(told.published, counted.published, 1e-9);
    EXPECT_NEAR(told.received, counted.received, 1e-9);
    EXPECT_NEAR(told.reduced, counted.reduced, 1e-9);
    EXPECT_NEAR(told.copied, counted.copied, 1e-9);
  });
}

TEST(FlatAlgorithmCosts, TellTheLongestChainOfMessages) {
  for_each_form_of_members([](const Algorithm& algorithm, const Form& form, int members) {
    if (members > 20 && members % 16 > 1 && members != 63) return;
    // Where the members are no power of two, no single chain may have all that there is: with few pairs, both the
    // folding and all rounds; of rounds in which members give away unequal shares, one less each way. The last round
    // of circulants of one member more than a power of two has one straggler: one less.
    const bool folds = algorithm.name.starts_with("recursive");
    const bool circulant = algorithm.name == "circulant";
    const bool uneven = circulant || algorithm.name == "swing" || algorithm.name == "bine";
    const int ways = form.generate == algorithm.all_reduce.generate ? 2 : 1;
    int shorter = uneven ? ways : folds ? 1 : 0;
    if (circulant && std::has_single_bit(static_cast<unsigned>(members - 1))) ++shorter;
    if (std::has_single_bit(static_cast<unsigned>(members))) shorter = 0;
    const int counted = rounds_of(programs_of(form, members, divisible_stage(members)));
    const double told = form.cost(members).rounds;
    EXPECT_GE(told, counted);
    EXPECT_LE(told, counted + shorter);
  });
}

TEST(FlatAlgorithmCosts, AreNothingForAMemberThatIsAlone) {
  for (const Algorithm& algorithm : registry())
    for (const Form& form :
         {algorithm.reduce_scatter, algorithm.all_gather, algorithm.all_reduce, algorithm.reduce, algorithm.broadcast})
      if (form) {
        EXPECT_EQ(form.cost(1).messages, 0);
        EXPECT_EQ(form.cost(1).sent, 0);
        EXPECT_EQ(form.cost(1).reduced, 0);
      }
}

TEST(FlatAlgorithmCosts, AreTheLeastBytesForReduceScatterAndAllGatherButWhereMembersAreFolded) {
  for (const Algorithm& algorithm : registry())
    for (int members = 2; members <= 64; ++members)
      for (const Form& form : {algorithm.reduce_scatter, algorithm.all_gather})
        if (form && (algorithm.name != "recursive_halving" || std::has_single_bit(static_cast<unsigned>(members)))) {
          const Stage stage = divisible_stage(members);
          const sched::Unit least = (stage.range.end - stage.range.begin) / members * (members - 1);
          for (const Program& program : programs_of(form, members, stage)) {
            sched::Unit sent = 0;
            for (const Step& step : program.steps)
              sent += static_cast<sched::Unit>(step.peers.size()) * (step.range.end - step.range.begin);
            EXPECT_EQ(sent, least) << algorithm.name << ", " << members << " members";
          }
        }
}

} // namespace
} // namespace strata::coll
