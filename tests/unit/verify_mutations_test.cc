// SPDX-License-Identifier: BSD-3-Clause
// Seeded mutations of schedules that are right. Those of the first kind break any schedule that does nothing needless,
// so the verifier must refuse them all. Others may by chance leave a schedule right; the interpreter judges those that
// the verifier accepts.
#include "coll/algorithm.h"
#include "interpreter.h"
#include "verify_mutations.h"

#include <cstdint>
#include <limits>
#include <map>

namespace strata::verify {
namespace {

using mutations::Mutation;
using mutations::Random;

/// The shapes, and all that the registry has.
std::vector<shapes::Named> subjects(int ranks) {
  std::vector<shapes::Named> all = shapes::of_ranks(ranks);
  coll::Group group{shapes::all_but(ranks, -1), 0};
  for (const coll::Algorithm& algorithm : coll::registry())
    if (algorithm.all_reduce)
      all.push_back({std::string(algorithm.name) + " of the registry of " + std::to_string(ranks),
                     schedule_of(ranks, [&](sched::ProgramBuilder& builder, int rank) {
                       group.self = rank;
                       algorithm.all_reduce.generate(builder, group, {});
                     })});
  return all;
}

constexpr int mutants_of_each = 20;

TEST(Mutations, ThatBreakAScheduleAreAllRefused) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::map<std::string, int> refused;
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const auto& [name, schedule, repeated] : subjects(ranks))
      for (const Mutation& mutation : mutations::breaking)
        for (int i = 0; i < mutants_of_each; ++i) {
          Schedule mutant = schedule;
          if (!mutation.mutate(random, mutant)) continue;
          const std::string judgement = judgement_of(mutant);
          ASSERT_NE(judgement, "accepted") << name << ": " << mutation.name;
          ASSERT_NE(judgement.find("rank "), std::string::npos) << judgement;
          ++refused[mutation.name];
        }
  for (const Mutation& mutation : mutations::breaking)
    EXPECT_GT(refused[mutation.name], 0) << mutation.name << " was never tried";
}

TEST(Mutations, OfTheOperandOrderOnOneRankAreRefusedWhereSeveralRanksSum) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const auto& [name, schedule, repeated] : shapes::of_ranks(ranks))
      for (int i = 0; i < mutants_of_each; ++i) {
        Schedule mutant = schedule;
        auto& operands = mutations::step_at(mutant, *mutations::draw_step(random, mutant, mutations::is_sum)).operands;
        const std::size_t one = mutations::draw(random, operands.size());
        const std::size_t other = (one + 1 + mutations::draw(random, operands.size() - 1)) % operands.size();
        std::swap(operands[one], operands[other]);
        if (repeated)
          ASSERT_NE(judgement_of(mutant), "accepted") << name;
        else // one rank sums for all, so all have the new order
          ASSERT_EQ(judgement_of(mutant), "accepted") << name;
      }
}

/// What is wrong with the end of one run of an all-reduce, or nothing.
std::string fault_of_run(const Schedule& schedule, interpreter::Memory memory, interpreter::Sends sends,
                         Random& random) {
  interpreter::Interpretation run(schedule, memory, sends, static_cast<unsigned>(random()));
  auto& all = run.expressions();
  const auto own = [&](int rank, sched::Unit) { return all.leaf(rank); };
  const auto none = [](int, sched::Unit) { return interpreter::undefined; };
  const auto outcome = memory == interpreter::Memory::in_place ? run({own, own}) : run({own, none});
  if (!outcome.failure.empty()) return outcome.failure;
  for (std::size_t i = 0; i + 1 < outcome.cuts.size(); ++i)
    for (const auto& output : outcome.output) {
      if (output[i] == interpreter::undefined) return "a part of output is not written";
      if (output[i] != outcome.output[0][i]) return "the ranks differ";
      const auto& summed = all.ranks(output[i]);
      if (summed.size() != schedule.size() || std::set(summed.begin(), summed.end()).size() != schedule.size())
        return "the sum is not over every rank once";
    }
  return {};
}

/// Runs an accepted schedule in several random orders.
std::string fault_of(Schedule schedule, Random& random) {
  for (sched::Program& program : schedule)
    for (sched::Step& step : program.steps) // a reduce of one operand does not change it; the interpreter is stricter
      if (step.kind == sched::Kind::reduce && step.operands.size() == 1) step.kind = sched::Kind::copy;
  for (auto memory : {interpreter::Memory::separate, interpreter::Memory::in_place})
    for (auto sends : {interpreter::Sends::rendezvous, interpreter::Sends::buffered, interpreter::Sends::mixed})
      for (int i = 0; i < 2; ++i)
        if (std::string fault = fault_of_run(schedule, memory, sends, random); !fault.empty()) return fault;
  return {};
}

TEST(Mutations, ThatAreAcceptedGiveTheRightResultInEveryOrderThatIsTried) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int accepted = 0;
  int refused = 0;
  for (int ranks = 2; ranks <= 6; ++ranks)
    for (const auto& [name, schedule, repeated] : subjects(ranks))
      for (int i = 0; i < 100; ++i) {
        Schedule mutant = schedule;
        const Mutation& mutation =
            mutations::random_changes[mutations::draw(random, std::size(mutations::random_changes))];
        if (!mutation.mutate(random, mutant)) continue;
        if (judgement_of(mutant) != "accepted") {
          ++refused;
          continue;
        }
        ++accepted;
        ASSERT_EQ(fault_of(mutant, random), "") << name << ": " << mutation.name;
      }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

/// Any value of a field, also those that make no sense.
template <typename Number>
Number anything(Random& random) {
  constexpr auto lowest = std::numeric_limits<Number>::min();
  constexpr auto highest = std::numeric_limits<Number>::max();
  const Number edges[] = {0, 1, 2, 3, lowest, highest, static_cast<Number>(lowest + 1), static_cast<Number>(random())};
  return edges[mutations::draw(random, std::size(edges))];
}

void garble(Random& random, Schedule& schedule) {
  sched::Program& program = schedule[mutations::draw(random, schedule.size())];
  sched::Step& step = program.steps[mutations::draw(random, program.steps.size())];
  sched::Operand operand = step.operands.empty() ? sched::from(sched::output) : step.operands.back();
  switch (mutations::draw(random, 14)) {
  case 0:
    program.rank = anything<int>(random);
    break;
  case 1:
    program.ranks = anything<int>(random);
    break;
  case 2:
    program.scratch_regions = anything<std::uint16_t>(random) % 8;
    break;
  case 3:
    step.kind = static_cast<sched::Kind>(anything<std::uint8_t>(random));
    break;
  case 4:
    step.place.buffer = static_cast<sched::Buffer>(anything<std::uint8_t>(random));
    break;
  case 5:
    step.place.region = anything<std::uint16_t>(random);
    break;
  case 6:
    step.range.begin = anything<sched::Unit>(random);
    break;
  case 7:
    step.range.end = anything<sched::Unit>(random);
    break;
  case 8:
    step.tag.phase = anything<std::uint8_t>(random);
    break;
  case 9:
    step.peers.push_back(anything<std::int32_t>(random));
    break;
  case 10:
    step.dependencies.push_back(anything<sched::StepIndex>(random));
    break;
  case 11:
    operand.kind = static_cast<sched::Operand::Kind>(anything<std::uint8_t>(random));
    break;
  case 12:
    operand.peer = anything<std::int32_t>(random);
    break;
  default:
    operand.place.region = anything<std::uint16_t>(random);
    break;
  }
  if (!step.operands.empty()) step.operands.back() = operand;
}

TEST(Mutations, OfAnyFieldToAnyValueAreJudgedWithoutHarm) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto all = subjects(4);
  for (int i = 0; i < 3000; ++i) {
    const auto& [name, schedule, repeated] = all[mutations::draw(random, all.size())];
    Schedule mutant = schedule;
    for (std::size_t changes = 1 + mutations::draw(random, 3); changes > 0; --changes)
      garble(random, mutant);
    if (judgement_of(mutant) == "accepted") {
      ASSERT_EQ(fault_of(mutant, random), "") << name;
    }
  }
}

} // namespace
} // namespace strata::verify
