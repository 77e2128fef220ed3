// SPDX-License-Identifier: BSD-3-Clause
// Rule 1 of the verifier: each step by itself, and the contract.
#include "verify_shapes.h"

namespace strata::verify {
namespace {

using sched::Kind;
using sched::Program;
using sched::Step;
using sched::whole;

constexpr sched::Tag only_tag{0, sched::all_reduce_phase, 0};

/// Two ranks that publish their inputs: step 0 sends, 1 reduces into scratch 0, 2 copies to output.
struct VerifierForm : testing::Test {
  Schedule schedule = shapes::publish(3);
  Step& send = schedule[1].steps[0];
  Step& reduce = schedule[1].steps[1];
  Step& copy = schedule[1].steps[2];
};

TEST_F(VerifierForm, AcceptsWhatTheseTestsStartFrom) { EXPECT_EQ(judgement_of(schedule), "accepted"); }

TEST_F(VerifierForm, RefusesAScheduleWithoutRanks) {
  EXPECT_EQ(judgement_of({}), "a schedule needs the program of one rank at least");
}

TEST_F(VerifierForm, RefusesAProgramOfAnotherRank) {
  schedule[1].rank = 2;
  EXPECT_EQ(judgement_of(schedule), "program 1 of 3 says that it is rank 2 of 3");
}

TEST_F(VerifierForm, RefusesAProgramOfAnotherNumberOfRanks) {
  schedule[1].ranks = 4;
  EXPECT_EQ(judgement_of(schedule), "program 1 of 3 says that it is rank 1 of 4");
}

TEST_F(VerifierForm, RefusesAStepThatDependsOnItself) {
  copy.dependencies = {2};
  expect_refusal(schedule, 1, 2, "depends on step 2, not an earlier one");
}

TEST_F(VerifierForm, RefusesAStepThatDependsOnALaterOne) {
  send.dependencies = {1};
  expect_refusal(schedule, 1, 0, "depends on step 1, not an earlier one");
}

TEST_F(VerifierForm, RefusesADependencyBelowZero) {
  reduce.dependencies = {-1};
  expect_refusal(schedule, 1, 1, "depends on step -1");
}

TEST_F(VerifierForm, RefusesDependenciesOutOfOrder) {
  copy.dependencies = {1, 0};
  expect_refusal(schedule, 1, 2, "dependencies 1, 0 do not ascend");
}

TEST_F(VerifierForm, RefusesADependencyNamedTwice) {
  copy.dependencies = {1, 1};
  expect_refusal(schedule, 1, 2, "dependencies 1, 1 do not ascend");
}

TEST_F(VerifierForm, RefusesAnEmptyRange) {
  copy.range = {whole / 2, whole / 2};
  expect_refusal(schedule, 1, 2, "range [1/2,1/2) is empty or outside");
}

TEST_F(VerifierForm, RefusesARangePastTheSlice) {
  copy.range = {0, whole + 1};
  expect_refusal(schedule, 1, 2, "is empty or outside");
}

TEST_F(VerifierForm, RefusesARangeBeforeTheSlice) {
  copy.range = {-whole, whole};
  expect_refusal(schedule, 1, 2, "range [-1,1) is empty or outside");
}

TEST_F(VerifierForm, RefusesAScratchRegionThatTheProgramDoesNotHave) {
  reduce.place = sched::scratch(1);
  expect_refusal(schedule, 1, 1, "scratch1 does not exist; the program has 1 scratch regions");
}

TEST_F(VerifierForm, RefusesAnOperandInAScratchRegionThatTheProgramDoesNotHave) {
  copy.operands = {sched::from(sched::scratch(7))};
  expect_refusal(schedule, 1, 2, "scratch7 does not exist");
}

TEST_F(VerifierForm, RefusesASecondRegionOfOutput) {
  copy.place.region = 1;
  expect_refusal(schedule, 1, 2, "region 1 of output");
}

TEST_F(VerifierForm, RefusesABufferThatIsNone) {
  copy.place.buffer = static_cast<sched::Buffer>(9);
  expect_refusal(schedule, 1, 2, "buffer 9 is none of");
}

TEST_F(VerifierForm, RefusesAKindThatIsNone) {
  copy.kind = static_cast<Kind>(9);
  expect_refusal(schedule, 1, 2, "step kind 9 is none of");
}

TEST_F(VerifierForm, RefusesAnOperandKindThatIsNone) {
  copy.operands[0].kind = static_cast<sched::Operand::Kind>(9);
  expect_refusal(schedule, 1, 2, "operand kind 9");
}

TEST_F(VerifierForm, RefusesASendToARankThatDoesNotExist) {
  send.peers = {0, 3};
  expect_refusal(schedule, 1, 0, "peer 3 is not in 0..2");
}

TEST_F(VerifierForm, RefusesASendToARankBelowZero) {
  send.peers = {-1, 0};
  expect_refusal(schedule, 1, 0, "peer -1 is not in 0..2");
}

TEST_F(VerifierForm, RefusesASendToItself) {
  send.peers = {0, 1, 2};
  expect_refusal(schedule, 1, 0, "peer 1 is the rank itself");
}

TEST_F(VerifierForm, RefusesASendToOnePeerTwice) {
  send.peers = {2, 0, 2};
  expect_refusal(schedule, 1, 0, "sends to peer 2 twice");
}

TEST_F(VerifierForm, RefusesASendToNobody) {
  send.peers.clear();
  expect_refusal(schedule, 1, 0, "sends to nobody");
}

TEST_F(VerifierForm, RefusesASendWithAnOperand) {
  send.operands = {sched::from(sched::input)};
  expect_refusal(schedule, 1, 0, "a send has operands");
}

TEST_F(VerifierForm, RefusesACopyWithPeers) {
  copy.peers = {0};
  expect_refusal(schedule, 1, 2, "has peers, but is not a send");
}

TEST_F(VerifierForm, RefusesAMessageFromARankThatDoesNotExist) {
  reduce.operands[0].peer = 3;
  expect_refusal(schedule, 1, 1, "peer 3 is not in 0..2");
}

TEST_F(VerifierForm, RefusesAMessageFromItself) {
  reduce.operands[0].peer = 1;
  expect_refusal(schedule, 1, 1, "peer 1 is the rank itself");
}

TEST_F(VerifierForm, RefusesAReceiveOfTwoMessages) {
  reduce.kind = Kind::recv;
  expect_refusal(schedule, 1, 1, "a recv needs one operand, a message");
}

TEST_F(VerifierForm, RefusesAReceiveOfALocalPlace) {
  copy.kind = Kind::recv;
  expect_refusal(schedule, 1, 2, "a recv needs one operand, a message");
}

TEST_F(VerifierForm, RefusesACopyOfAMessage) {
  copy.operands = {sched::from(0, only_tag)};
  expect_refusal(schedule, 1, 2, "a copy needs one operand, a local place");
}

TEST_F(VerifierForm, RefusesACopyOfAPlaceToItself) {
  copy.operands = {sched::from(sched::output)};
  expect_refusal(schedule, 1, 2, "copies a place to itself");
}

TEST_F(VerifierForm, RefusesAReduceOfNothing) {
  reduce.operands.clear();
  expect_refusal(schedule, 1, 1, "a reduce needs an operand");
}

TEST_F(VerifierForm, RefusesAReduceThatReadsAPlaceTwice) {
  reduce.operands.push_back(sched::from(sched::input));
  expect_refusal(schedule, 1, 1, "operands 1 and 3 are the same");
}

TEST_F(VerifierForm, RefusesAReduceThatTakesAMessageTwice) {
  reduce.operands.push_back(reduce.operands[2]);
  expect_refusal(schedule, 1, 1, "operands 2 and 3 are the same");
}

TEST_F(VerifierForm, RefusesAStepThatWritesInput) {
  copy.place = sched::input;
  expect_refusal(schedule, 1, 2, "writes to input");
}

TEST_F(VerifierForm, RefusesAContractForAnotherNumberOfRanks) {
  const Contract contract{Contract::Kind::reduce_scatter, {{}, {}}};
  EXPECT_EQ(judgement_of(schedule, contract), "contract owns 2 ranges for 3 ranks");
}

TEST_F(VerifierForm, RefusesAContractOutsideOfTheSlice) {
  const Contract contract{Contract::Kind::reduce_scatter, {{}, {0, 2 * whole}, {}}};
  EXPECT_EQ(judgement_of(schedule, contract), "contract of rank 1: range [0,2) is empty or outside of the slice [0,1)");
}

TEST_F(VerifierForm, RefusesAnAllGatherOfPartsThatOverlap) {
  const Contract contract{Contract::Kind::all_gather, {{0, whole / 2}, {whole / 4, whole}, {0, 0}}};
  EXPECT_EQ(judgement_of(schedule, contract),
            "contract: the owned ranges [0,1/2) and [1/4,1) of an all-gather overlap");
}

TEST_F(VerifierForm, CutsTheNameOfAStepWithManyPeersShort) {
  Schedule wide = shapes::publish(64);
  wide[5].steps[0].range.end = whole + 1;
  EXPECT_LT(judgement_of(wide).size(), 250u);
}

} // namespace
} // namespace strata::verify
