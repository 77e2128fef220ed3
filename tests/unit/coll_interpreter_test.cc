// SPDX-License-Identifier: BSD-3-Clause
// The interpreter is an oracle of the tests of src/coll, so it must refuse what is wrong.
#include "interpreter.h"
#include "sched/builder.h"

#include <gtest/gtest.h>

namespace strata::interpreter {
namespace {

using sched::from;
using sched::Program;
using sched::ProgramBuilder;
using sched::Tag;

/// Two ranks that each append what `body` says to do with the other.
template <typename Body>
std::vector<Program> pair_of(Body body) {
  std::vector<Program> programs;
  for (int rank = 0; rank < 2; ++rank) {
    ProgramBuilder builder(rank, 2);
    body(builder, 1 - rank);
    programs.push_back(std::move(builder).finish());
  }
  return programs;
}

std::string failure_of(const std::vector<Program>& programs, Sends sends) {
  Interpretation run(programs, Memory::in_place, sends, 1);
  const auto own = [&](int rank, Unit) { return run.expressions().leaf(rank); };
  return run({own, own}).failure;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Interpreter, FindsThatAnExchangeOverWhatIsSentNeverEndsWithoutBuffers) {
  const auto programs = pair_of([](ProgramBuilder& builder, int peer) {
    builder.send({}, sched::input, {peer}, Tag{});
    builder.reduce({}, sched::output, {from(sched::input), from(peer, Tag{})}, Tag{});
  });
  EXPECT_TRUE(contains(failure_of(programs, Sends::rendezvous), "never completes"));
  EXPECT_EQ(failure_of(programs, Sends::buffered), "");
}

TEST(Interpreter, RefusesToReadWhatNobodyWrote) {
  const auto programs = pair_of([](ProgramBuilder& builder, int peer) {
    builder.send({}, sched::scratch(builder.new_scratch_region()), {peer}, Tag{});
    builder.recv({}, sched::output, peer, Tag{});
  });
  EXPECT_TRUE(contains(failure_of(programs, Sends::rendezvous), "reads what nobody wrote"));
}

TEST(Interpreter, RefusesAMessageThatNobodyTakes) {
  const auto programs = pair_of([](ProgramBuilder& builder, int peer) {
    builder.send({}, sched::input, {peer}, Tag{0, 0, static_cast<std::uint16_t>(peer)});
    builder.recv({}, sched::output, peer, Tag{0, 0, 7});
  });
  EXPECT_TRUE(contains(failure_of(programs, Sends::mixed), "does not take it"));
}

TEST(Interpreter, RefusesTwoMessagesOfOneName) {
  const auto programs = pair_of([](ProgramBuilder& builder, int peer) {
    builder.send({}, sched::input, {peer}, Tag{});
    builder.send({}, sched::input, {peer}, Tag{});
    builder.recv({}, sched::scratch(builder.new_scratch_region()), peer, Tag{});
  });
  EXPECT_TRUE(contains(failure_of(programs, Sends::buffered), "was sent before"));
}

TEST(Interpreter, ReadsASentPlaceOnlyWhenTheMessageIsTaken) {
  // Without the dependency on its send, the copy may overwrite what the other rank is still to take.
  auto programs = pair_of([](ProgramBuilder& builder, int peer) {
    builder.send({}, sched::input, {peer}, Tag{});
    const sched::Place arrived = sched::scratch(builder.new_scratch_region());
    builder.recv({}, arrived, peer, Tag{});
    builder.copy({}, sched::output, arrived, Tag{});
  });
  for (Program& program : programs)
    program.steps[2].dependencies = {1};
  int wrong = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Interpretation run(programs, Memory::in_place, Sends::rendezvous, seed);
    const auto own = [&](int rank, Unit) { return run.expressions().leaf(rank); };
    const Outcome outcome = run({own, own});
    if (outcome.output[0] == outcome.output[1]) ++wrong;
  }
  EXPECT_GT(wrong, 0);
}

} // namespace
} // namespace strata::interpreter
