// SPDX-License-Identifier: BSD-3-Clause
// Rules 2 and 3 of the verifier: messages have two ends, and nobody waits forever.
#include "verify_shapes.h"

namespace strata::verify {
namespace {

using sched::ProgramBuilder;
using sched::whole;

constexpr sched::Tag first{0, sched::all_reduce_phase, 0};
constexpr sched::Tag second{0, sched::all_reduce_phase, 1};
constexpr sched::Range high{whole / 2, whole};

TEST(VerifierMessages, RefusesAMessageThatNobodyTakes) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send(high, sched::input, {1}, first);
  });
  expect_refusal(schedule, 0, 0, "no step takes message l0.ar.0 at [1/2,1) from rank 0 to rank 1");
}

TEST(VerifierMessages, RefusesAMessageThatOnlyOneOfASetTakes) {
  Schedule schedule = shapes::tree(4);
  schedule[2].steps.pop_back();
  expect_refusal(schedule, 0, 1, "no step takes message l0.bc.0 at [0,1) from rank 0 to rank 2");
}

TEST(VerifierMessages, RefusesAReceiveOfAMessageThatIsNotSent) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 1) builder.recv({}, sched::output, 0, first);
  });
  expect_refusal(schedule, 1, 0, "no step sends message l0.ar.0 at [0,1) from rank 0 to rank 1");
}

TEST(VerifierMessages, RefusesTwoMessagesOfOneName) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 1) builder.recv({}, sched::output, 0, first);
    if (rank == 0) builder.send({}, sched::input, {1}, first);
    if (rank == 0) builder.send({}, sched::input, {1}, first);
  });
  expect_refusal(schedule, 0, 1, "sends message l0.ar.0 at [0,1) from rank 0 to rank 1, as step 0 does");
}

TEST(VerifierMessages, RefusesTwoMessagesOfOneNameThatOnlyDifferInTheirEnd) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send({}, sched::input, {1}, first);
    if (rank == 0) builder.send(low, sched::input, {1}, first);
  });
  expect_refusal(schedule, 0, 1, "as step 0 does");
}

TEST(VerifierMessages, RefusesAMessageTakenByTwoSteps) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send({}, sched::input, {1}, first);
    if (rank == 1) builder.recv({}, sched::output, 0, first);
    if (rank == 1) builder.recv({}, sched::output, 0, first);
  });
  expect_refusal(schedule, 1, 1, "takes message l0.ar.0 at [0,1) from rank 0 to rank 1, as step 0 does");
}

TEST(VerifierMessages, RefusesAMessageWhoseEndsHaveUnequalRanges) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send({}, sched::input, {1}, first);
    if (rank == 1) builder.recv(low, sched::output, 0, first);
  });
  expect_refusal(schedule, 1, 0, "takes [0,1/2), but rank 0 step 0 sends [0,1)");
}

TEST(VerifierMessages, AcceptsOneTagForDifferentRangesBetweenTwoRanks) {
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    for (sched::Range range : {low, high}) {
      const auto region = builder.new_scratch_region();
      builder.send(range, sched::input, {1 - rank}, first);
      builder.recv(range, sched::scratch(region), 1 - rank, first);
      const auto mine = sched::from(sched::input);
      const auto theirs = sched::from(sched::scratch(region));
      builder.reduce(range, sched::output, rank == 0 ? std::vector{mine, theirs} : std::vector{theirs, mine}, first);
    }
  });
  EXPECT_EQ(judgement_of(schedule), "accepted");
}

TEST(VerifierProgress, RefusesAnExchangeInWhichBothRanksOverwriteWhatTheySend) {
  // Right with buffering; with sends that wait, each reduce waits for its own send, and so for the other's reduce.
  const Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    builder.send({}, sched::input, {1 - rank}, first);
    const auto mine = sched::from(sched::input);
    const auto theirs = sched::from(1 - rank, first);
    builder.reduce({}, sched::output, rank == 0 ? std::vector{mine, theirs} : std::vector{theirs, mine}, first);
  });
  expect_refusal(schedule, 0, 0,
                 "deadlock: waits for rank 1 step 1 to take its message, which waits for rank 1 step 0 to complete, "
                 "which waits for rank 0 step 1 to take its message, which waits for rank 0 step 0 to complete");
}

TEST(VerifierProgress, RefusesRanksThatAllReceiveBeforeTheySend) {
  const Schedule schedule = schedule_of(5, [](ProgramBuilder& builder, int rank) {
    builder.recv({}, sched::output, (rank + 4) % 5, first);
    builder.send({}, sched::output, {(rank + 1) % 5}, first);
  });
  const std::string message = judgement_of(schedule);
  EXPECT_NE(message.find("rank 0 step 0 (recv"), std::string::npos) << message;
  EXPECT_NE(message.find("deadlock: waits for rank 4 step 1 to send, which waits for rank 4 step 0 to complete"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("and so on in a cycle"), std::string::npos) << message;
}

TEST(VerifierProgress, RefusesMessagesThatOneStepTakesAtOnceButOneRankSendsInTurn) {
  // Rank 0's second send waits for the first, whose receiver takes both or none.
  Schedule schedule = schedule_of(2, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) builder.send({}, sched::input, {1}, first);
    if (rank == 0) builder.send({}, sched::input, {1}, second);
    if (rank == 1) builder.reduce({}, sched::output, {sched::from(0, first), sched::from(0, second)}, first);
  });
  schedule[0].steps[1].dependencies = {0};
  expect_refusal(schedule, 0, 0,
                 "deadlock: waits for rank 1 step 0 to take its message, which waits for rank 0 step 1 "
                 "to send, which waits for rank 0 step 0 to complete");
}

TEST(VerifierProgress, RefusesASendToASetOfWhichOneReceiverIsStuck) {
  // Rank 2 takes what rank 0 publishes only after a message that rank 0 sends when everybody has taken that.
  Schedule schedule = schedule_of(3, [](ProgramBuilder& builder, int rank) {
    if (rank == 0) {
      builder.send({}, sched::input, {1, 2}, first);
      builder.send({}, sched::input, {2}, second);
    } else {
      if (rank == 2) builder.recv({}, sched::output, 0, second);
      builder.recv({}, sched::output, 0, first);
    }
  });
  schedule[0].steps[1].dependencies = {0};
  expect_refusal(schedule, 0, 0,
                 "deadlock: waits for rank 2 step 1 to take its message, which waits for rank 2 step 0 "
                 "to complete, which waits for rank 0 step 1 to send");
}

} // namespace
} // namespace strata::verify
