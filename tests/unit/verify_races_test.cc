// SPDX-License-Identifier: BSD-3-Clause
// Rule 5 of the verifier: what happens before what, under every timing.
#include "verify_shapes.h"

namespace strata::verify {
namespace {

using sched::ProgramBuilder;
using sched::scratch;
using sched::whole;

/// Nothing is owned: only races and undefined values can be wrong.
Contract nothing(int ranks) {
  return {Contract::Kind::reduce_scatter, std::vector<sched::Range>(static_cast<std::size_t>(ranks), {0, 0})};
}

TEST(VerifierRaces, RefusesAReduceThatReadsAChunkBeforeItArrives) {
  Schedule schedule = shapes::doubling(2);
  schedule[0].steps[2].dependencies = {0};
  expect_refusal(schedule, 0, 2, "scratch0[0,1) is read here and written in step 1");
}

TEST(VerifierRaces, RefusesASendOfAChunkThatMayNotBeThereYet) {
  Schedule schedule = shapes::ring(3);
  schedule[1].steps[2].dependencies.clear();
  expect_refusal(schedule, 1, 2, "output[2/3,1) is read here and written in step 1");
}

TEST(VerifierRaces, RefusesAWriteOfWhatASendMayStillRead) {
  Schedule schedule = shapes::tree(3);
  ASSERT_EQ(schedule[2].steps[1].dependencies, std::vector{0});
  schedule[2].steps[1].dependencies.clear();
  // Only wrong in place: the send reads input and the receive writes output.
  expect_refusal(schedule, 2, 1, "output[0,1) is written here and read in step 0");
}

TEST(VerifierRaces, RefusesTwoWritesInNoOrder) {
  Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send({}, sched::input, {1}, tag(0));
    if (rank == 0) builder.send(low, sched::input, {1}, tag(1));
    if (rank == 1) builder.recv({}, sched::output, 0, tag(0));
    if (rank == 1) builder.recv(low, sched::output, 0, tag(1));
  });
  ASSERT_EQ(judgement_of(schedule, nothing(2)), "accepted");
  schedule[1].steps[1].dependencies.clear();
  expect_refusal(schedule, nothing(2), 1, 1, "output[0,1/2) is written here and written in step 0");
}

TEST(VerifierRaces, RefusesAnOrderThatContradictsTheList) {
  // Step 0 writes output after step 1 has read it, through a message to rank 1 and back: a cycle of lists, not of
  // steps.
  Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.recv({}, sched::output, 1, tag(1));
    if (rank == 0) builder.send({}, sched::input, {1}, tag(0));
    if (rank == 1) builder.recv({}, sched::output, 0, tag(0));
    if (rank == 1) builder.send({}, sched::output, {0}, tag(1));
  });
  schedule[0].steps[1].dependencies.clear();
  expect_refusal(schedule, nothing(2), 0, 1, "is read here and written in step 0");
}

TEST(VerifierRaces, AcceptsStepsOnDisjointRangesInNoOrder) {
  const Schedule schedule = schedule_of(1, [](ProgramBuilder& builder, int) {
    for (int i = 0; i < 3; ++i)
      builder.copy(sched::part_of({}, 3, i), sched::output, sched::input, tag(0));
  });
  for (const sched::Step& step : schedule[0].steps)
    EXPECT_TRUE(step.dependencies.empty());
  EXPECT_EQ(judgement_of(schedule), "accepted");
}

TEST(VerifierRaces, AcceptsAnOrderThatOnlyFollowsFromOtherDependencies) {
  // 0 <- 1 <- 2 is given; 2 also overwrites what 0 wrote.
  Schedule schedule = schedule_of(1, [](ProgramBuilder& builder, int) {
    const auto region = builder.new_scratch_region();
    builder.copy({}, scratch(region), sched::input, tag(0));
    builder.copy({}, sched::output, scratch(region), tag(0));
    builder.copy({}, scratch(region), sched::output, tag(0));
  });
  schedule[0].steps[2].dependencies = {1};
  EXPECT_EQ(judgement_of(schedule), "accepted");
}

/// Rank 0 publishes scratch 0 in step 1, takes the answers of ranks 1 and 2 in steps 2 and 3, and overwrites scratch 0
/// in step 4, which depends on nothing but some of the answers.
Schedule published_and_overwritten_after(const std::vector<sched::StepIndex>& answers) {
  Schedule schedule = schedule_of(3, [](ProgramBuilder& builder, int rank) {
    const auto published = scratch(builder.new_scratch_region());
    if (rank > 0) {
      builder.recv({}, published, 0, tag(0));
      builder.send({}, published, {0}, tag(1));
      return;
    }
    builder.copy({}, published, sched::input, tag(0));
    builder.send({}, published, {1, 2}, tag(0));
    builder.recv({}, scratch(builder.new_scratch_region()), 1, tag(1));
    builder.recv({}, scratch(builder.new_scratch_region()), 2, tag(1));
    builder.copy({}, published, sched::input, tag(0));
  });
  schedule[0].steps[4].dependencies = answers;
  return schedule;
}

TEST(VerifierRaces, AcceptsAWriteOfWhatWasPublishedAfterTheAnswersOfAllReceivers) {
  EXPECT_EQ(judgement_of(published_and_overwritten_after({2, 3}), nothing(3)), "accepted");
}

TEST(VerifierRaces, RefusesAWriteOfWhatWasPublishedAfterTheAnswerOfOneReceiver) {
  for (sched::StepIndex answer : {2, 3})
    expect_refusal(published_and_overwritten_after({answer}), nothing(3), 0, 4,
                   "scratch0[0,1) is written here and read in step 1");
}

TEST(VerifierRaces, RefusesToConcludeFromACompletedSendThatItWasReceived) {
  // Rank 0 sends again when its first send has completed. If that was buffered, the second message may be first.
  Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send({}, sched::input, {1}, tag(0));
    if (rank == 0) builder.send({}, sched::input, {1}, tag(1));
    if (rank == 1) {
      builder.recv({}, scratch(builder.new_scratch_region()), 0, tag(0));
      builder.recv({}, scratch(builder.new_scratch_region()), 0, tag(1));
      builder.copy({}, sched::output, scratch(0), tag(0));
    }
  });
  schedule[0].steps[1].dependencies = {0};
  schedule[1].steps[2].dependencies = {1};
  expect_refusal(schedule, nothing(2), 1, 2, "scratch0[0,1) is read here and written in step 0");
}

TEST(VerifierRaces, RefusesToConcludeFromACompletedSendThatItsReceiverHasStarted) {
  Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send({}, sched::input, {1}, tag(0));
    if (rank == 0) builder.send({}, sched::input, {1}, tag(1));
    if (rank == 1) {
      for (int region = 0; region < 3; ++region)
        builder.new_scratch_region();
      builder.copy({}, scratch(0), sched::input, tag(0));
      builder.recv({}, scratch(1), 0, tag(0)); // after step 0
      builder.recv({}, scratch(2), 0, tag(1)); // its message is sent when that of step 1 has been taken, or buffered
      builder.copy({}, sched::output, scratch(0), tag(0));
    }
  });
  schedule[0].steps[1].dependencies = {0};
  schedule[1].steps[1].dependencies = {0};
  ASSERT_EQ(judgement_of(schedule, nothing(2)), "accepted");
  schedule[1].steps[3].dependencies = {2};
  expect_refusal(schedule, nothing(2), 1, 3, "scratch0[0,1) is read here and written in step 0");
}

TEST(VerifierRaces, RefusesAReceiveThatIsOnlyOrderedByTheArrivalOfItsMessage) {
  // The message that step 2 takes was sent after step 1 completed, but a receive may be posted, and its target
  // touched, before the message comes.
  Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) {
      const auto region = scratch(builder.new_scratch_region());
      builder.copy({}, region, sched::input, tag(0));
      builder.send({}, region, {1}, tag(0));
      builder.recv({}, region, 1, tag(1));
    } else {
      builder.recv({}, sched::output, 0, tag(0));
      builder.send({}, sched::output, {0}, tag(1));
    }
  });
  ASSERT_EQ(judgement_of(schedule, nothing(2)), "accepted");
  schedule[0].steps[2].dependencies = {0};
  expect_refusal(schedule, nothing(2), 0, 2, "scratch0[0,1) is written here and read in step 1");
}

} // namespace
} // namespace strata::verify
