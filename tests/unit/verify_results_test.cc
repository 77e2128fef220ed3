// SPDX-License-Identifier: BSD-3-Clause
// Rules 4 and 6 of the verifier: what the ranks hold in the end, in place or not, and that it is the same everywhere.
#include "verify_shapes.h"

namespace strata::verify {
namespace {

using sched::from;
using sched::part_of;
using sched::ProgramBuilder;
using sched::scratch;
using sched::whole;

Contract parts(Contract::Kind kind, int ranks) {
  Contract contract{kind, {}};
  for (int rank = 0; rank < ranks; ++rank)
    contract.owned.push_back(part_of({}, ranks, rank));
  return contract;
}

TEST(VerifierResults, RefusesAReadOfScratchThatNothingWasWrittenTo) {
  const Schedule schedule = schedule_of(1, [](ProgramBuilder& builder, int) {
    builder.copy({}, sched::output, scratch(builder.new_scratch_region()), tag(0));
  });
  expect_refusal(schedule, 0, 0, "reads scratch0[0,1), which nothing was written to");
}

TEST(VerifierResults, RefusesAReadOfOutputThatOnlyHasAValueInPlace) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send({}, sched::output, {1}, tag(0));
    if (rank == 1) builder.recv({}, sched::output, 0, tag(0));
  });
  expect_refusal(schedule, 0, 0, "reads output[0,1), which nothing was written to");
}

TEST(VerifierResults, RefusesAReadOfAPartThatWasNotWrittenTo) {
  const Schedule schedule = schedule_of(1, [](ProgramBuilder& builder, int) {
    const auto region = scratch(builder.new_scratch_region());
    builder.copy({0, whole / 2}, region, sched::input, tag(0));
    builder.copy({}, sched::output, region, tag(0));
  });
  expect_refusal(schedule, 0, 1, "reads scratch0[1/2,1), which nothing was written to");
}

TEST(VerifierResults, RefusesAReadOfInputThatIsOverwrittenInPlace) {
  // Rank 0 receives rank 1's input into output and then adds its own input, which is gone in place.
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 1) builder.send({}, sched::input, {0}, tag(0));
    if (rank == 1) builder.recv({}, sched::output, 0, tag(1));
    if (rank == 0) builder.recv({}, sched::output, 1, tag(0));
    if (rank == 0) builder.reduce({}, sched::output, {from(sched::output), from(sched::input)}, tag(0));
    if (rank == 0) builder.send({}, sched::output, {1}, tag(1));
  });
  expect_refusal(schedule, 0, 1, "reads input[0,1), which step 0 overwrites when the call is in place");
}

TEST(VerifierResults, AcceptsAReadOfInputAfterItWasCopiedToOutput) {
  const Schedule schedule = schedule_of(1, [](ProgramBuilder& builder, int) {
    const auto region = scratch(builder.new_scratch_region());
    builder.copy({}, sched::output, sched::input, tag(0));
    builder.copy({}, region, sched::input, tag(0));
    builder.copy({}, sched::output, region, tag(0));
  });
  EXPECT_EQ(judgement_of(schedule), "accepted");
}

TEST(VerifierResults, RefusesASumThatLacksARank) {
  Schedule schedule = shapes::publish(4);
  auto& operands = schedule[2].steps[1].operands;
  operands.erase(operands.begin() + 3);
  schedule[3].steps[0].peers = {0, 1};
  expect_refusal(schedule, 2, 2, "output[0,1) in the end lacks the contribution of rank 3: (0 + 1 + 2)");
}

TEST(VerifierResults, RefusesASumThatCountsARankTwice) {
  // Rank 0's partial sum of ranks 0 and 1 comes back to rank 1, which adds it to its own input.
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 1) builder.send({}, sched::input, {0}, tag(0));
    if (rank == 0) builder.reduce({}, sched::output, {from(sched::input), from(1, tag(0))}, tag(0));
    if (rank == 0) builder.send({}, sched::output, {1}, tag(1));
    if (rank == 1) builder.reduce({}, sched::output, {from(0, tag(1)), from(sched::input)}, tag(1));
  });
  expect_refusal(schedule, 1, 1, "counts rank 1 twice at [0,1): operand 0 is (0 + 1), operand 1 is 1");
}

TEST(VerifierResults, RefusesAReduceOfInputAndOutputThatHoldTheSame) {
  const Schedule schedule = schedule_of(1, [](ProgramBuilder& builder, int) {
    builder.copy({}, sched::output, sched::input, tag(0));
    builder.reduce({}, sched::output, {from(sched::input), from(sched::output)}, tag(0));
  });
  expect_refusal(schedule, 0, 1, "counts rank 0 twice");
}

TEST(VerifierResults, RefusesAnOutputThatIsNeverWrittenTo) {
  Schedule schedule = shapes::publish(2);
  schedule[1].steps.pop_back();
  EXPECT_EQ(judgement_of(schedule), "rank 1, no step: output[0,1) in the end is never written to");
}

TEST(VerifierResults, RefusesAnOutputOfWhichAPartIsNeverWrittenTo) {
  Schedule schedule = shapes::publish(2);
  schedule[1].steps.back().range.end = whole / 2;
  EXPECT_EQ(judgement_of(schedule), "rank 1, no step: output[1/2,1) in the end is never written to");
}

TEST(VerifierResults, RefusesAScheduleOfTwoRanksThatDoNothing) {
  EXPECT_EQ(judgement_of(schedule_of(2, [](ProgramBuilder&, int) {})),
            "rank 0, no step: output[0,1) in the end is never written to");
}

TEST(VerifierResults, RefusesAnotherOperandOrderOnOneRank) {
  Schedule schedule = shapes::publish(3);
  std::swap(schedule[2].steps[1].operands[0], schedule[2].steps[1].operands[1]);
  expect_refusal(schedule, 2, 2, "output[0,1) in the end is (1 + 0 + 2), but (0 + 1 + 2) on rank 0");
}

TEST(VerifierResults, RefusesAnotherAssociationOnOneRank) {
  Schedule schedule = shapes::publish(3);
  sched::Program& program = schedule[1];
  program = [&] {
    ProgramBuilder builder(1, 3);
    builder.send({}, sched::input, {0, 2}, tag(0));
    const auto sum = scratch(builder.new_scratch_region());
    builder.reduce({}, sum, {from(0, tag(0)), from(sched::input)}, tag(0));
    builder.reduce({}, sum, {from(sum), from(2, tag(0))}, tag(0)); // rounds twice, the others once
    builder.copy({}, sched::output, sum, tag(0));
    return std::move(builder).finish();
  }();
  expect_refusal(schedule, 1, 3, "output[0,1) in the end is ((0 + 1) + 2), but (0 + 1 + 2) on rank 0");
}

TEST(VerifierResults, AcceptsAnyOperandOrderWhereOneRankReducesForAll) {
  Schedule schedule = shapes::direct(4);
  for (sched::Program& program : schedule)
    for (sched::Step& step : program.steps)
      if (step.kind == sched::Kind::reduce) std::swap(step.operands[0], step.operands[3]);
  EXPECT_EQ(judgement_of(schedule), "accepted");
}

TEST(VerifierResults, TakesAReduceOfOneOperandForACopy) {
  const Schedule schedule = schedule_of(
      1, [](ProgramBuilder& builder, int) { builder.reduce({}, sched::output, {from(sched::input)}, tag(0)); });
  EXPECT_EQ(judgement_of(schedule), "accepted");
}

/// The first half of direct(): each rank ends with its own part.
Schedule scatter(int ranks) {
  Schedule schedule = shapes::direct(ranks);
  for (sched::Program& program : schedule)
    program.steps.resize(static_cast<std::size_t>(ranks)); // ranks - 1 sends and the reduce
  return schedule;
}

TEST(VerifierResults, AcceptsAReduceScatterUnderItsOwnContractOnly) {
  const Schedule schedule = scatter(4);
  EXPECT_EQ(judgement_of(schedule, parts(Contract::Kind::reduce_scatter, 4)), "accepted");
  EXPECT_EQ(judgement_of(schedule), "rank 0, no step: output[1/4,1/2) in the end is never written to");
}

TEST(VerifierResults, AcceptsAReduceScatterToRanksThatOwnNothing) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 1) builder.send({}, sched::input, {0}, tag(0));
    if (rank == 0) builder.reduce({}, sched::output, {from(sched::input), from(1, tag(0))}, tag(0));
  });
  EXPECT_EQ(judgement_of(schedule, {Contract::Kind::reduce_scatter, {{}, {0, 0}}}), "accepted");
}

TEST(VerifierResults, RefusesAReduceScatterWhoseOwnersOfOnePartDiffer) {
  Schedule schedule = shapes::publish(2);
  std::swap(schedule[1].steps[1].operands[0], schedule[1].steps[1].operands[1]);
  expect_refusal(schedule, {Contract::Kind::reduce_scatter, {{}, {0, whole / 3}}}, 1, 2,
                 "output[0,1/3) in the end is (1 + 0), but (0 + 1) on rank 0");
}

/// Everybody publishes its part of output.
Schedule gather(int ranks) {
  return schedule_of(ranks, [&](ProgramBuilder& builder, int rank) {
    builder.send(part_of({}, ranks, rank), sched::output, shapes::all_but(ranks, rank), tag(0));
    for (int peer : shapes::all_but(ranks, rank))
      builder.recv(part_of({}, ranks, peer), sched::output, peer, tag(0));
  });
}

TEST(VerifierResults, AcceptsAnAllGather) {
  EXPECT_EQ(judgement_of(gather(5), parts(Contract::Kind::all_gather, 5)), "accepted");
}

TEST(VerifierResults, RefusesAnAllGatherThatReadsInput) {
  Schedule schedule = gather(3);
  schedule[1].steps[0].place = sched::input;
  expect_refusal(schedule, parts(Contract::Kind::all_gather, 3), 1, 0,
                 "reads input, but an all-gather starts from output");
}

TEST(VerifierResults, RefusesAnAllGatherThatMissesAPart) {
  Schedule schedule = gather(3);
  schedule[2].steps.pop_back();
  schedule[1].steps[0].peers = {0};
  EXPECT_EQ(judgement_of(schedule, parts(Contract::Kind::all_gather, 3)),
            "rank 2, no step: output[1/3,2/3) in the end holds nothing instead of what rank 1 had");
}

TEST(VerifierResults, RefusesAnAllGatherOfPartsThatTheRanksDoNotOwn) {
  Contract contract = parts(Contract::Kind::all_gather, 3);
  std::swap(contract.owned[0], contract.owned[1]);
  expect_refusal(gather(3), contract, 0, 0, "reads output[0,1/3), which nothing was written to");
}

TEST(VerifierResults, RefusesAnAllGatherThatOverwritesTheOwnPart) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    const auto region = scratch(builder.new_scratch_region());
    const auto own = part_of({}, 2, rank);
    builder.copy(own, region, sched::output, tag(0));
    builder.reduce(own, sched::output, {from(region)}, tag(0)); // harmless
    if (rank == 0) builder.send(own, sched::output, {1}, tag(0));
    if (rank == 1) builder.recv(part_of({}, 2, 0), sched::output, 0, tag(0));
  });
  EXPECT_EQ(judgement_of(schedule, parts(Contract::Kind::all_gather, 2)),
            "rank 0, no step: output[1/2,1) in the end holds nothing instead of what rank 1 had");
}

} // namespace
} // namespace strata::verify
