// SPDX-License-Identifier: BSD-3-Clause
// Every form of every row of the registry, run by the interpreter: on whole slices and parts of them, in groups whose
// ranks are neither all nor in order, in place and not, with sends that wait for their receivers and sends that do not.
#include "coll/algorithm.h"
#include "interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace strata::coll {
namespace {

using interpreter::Memory;
using interpreter::Outcome;
using interpreter::Sends;
using interpreter::undefined;
using interpreter::Value;
using sched::part_of;
using sched::Program;
using sched::Range;
using sched::Unit;

enum class FormKind { reduce_scatter, all_gather, all_reduce, reduce, broadcast };
constexpr FormKind form_kinds[] = {FormKind::reduce_scatter, FormKind::all_gather, FormKind::all_reduce,
                                   FormKind::reduce, FormKind::broadcast};
constexpr const char* form_names[] = {"reduce_scatter", "all_gather", "all_reduce", "reduce", "broadcast"};

Form form_of(const Algorithm& algorithm, FormKind kind) {
  const Form forms[] = {algorithm.reduce_scatter, algorithm.all_gather, algorithm.all_reduce, algorithm.reduce,
                        algorithm.broadcast};
  return forms[static_cast<std::size_t>(kind)];
}

const char* name_of(FormKind kind) { return form_names[static_cast<std::size_t>(kind)]; }

/// Gathers or broadcasts: moves what is in output and reduces nothing.
bool only_moves(FormKind kind) { return kind == FormKind::all_gather || kind == FormKind::broadcast; }

/// Members 0..p-1 at the ranks of a communicator.
struct Cast {
  std::vector<std::int32_t> ranks;
  int communicator = 0;
  int size() const { return static_cast<int>(ranks.size()); }
};

Cast everybody(int members) {
  Cast cast{std::vector<std::int32_t>(static_cast<std::size_t>(members)), members};
  std::iota(cast.ranks.begin(), cast.ranks.end(), 0);
  return cast;
}

/// Every other rank of a larger communicator, backwards.
Cast strided_backwards(int members) {
  Cast cast{{}, 2 * members + 3};
  for (int member = 0; member < members; ++member)
    cast.ranks.push_back(2 * (members - 1 - member) + 1);
  return cast;
}

std::vector<Program> generate(const Form& form, const Cast& cast, const Stage& stage) {
  std::vector<Program> programs;
  for (int rank = 0; rank < cast.communicator; ++rank) {
    sched::ProgramBuilder builder(rank, cast.communicator);
    const auto found = std::find(cast.ranks.begin(), cast.ranks.end(), rank);
    if (found != cast.ranks.end())
      form.generate(builder, {cast.ranks, static_cast<int>(found - cast.ranks.begin())}, stage);
    programs.push_back(std::move(builder).finish());
  }
  return programs;
}

bool within(Unit at, Range range) { return range.begin <= at && at < range.end; }

/// One run of a form, and what it must have led to.
struct Trial {
  const Form& form;
  FormKind kind;
  Cast cast;
  Stage stage;
  Memory memory = Memory::separate;
  Sends sends = Sends::rendezvous;
  unsigned seed = 1;

  /// What a member owns when parts are scattered, gathered, reduced to member 0, or broadcast from it.
  Range part(int member) const {
    if (kind == FormKind::reduce || kind == FormKind::broadcast) return member == 0 ? stage.range : Range{0, 0};
    return part_of(stage.range, cast.size(), member);
  }

  /// Contribution of a rank: its own leaf. Parts that are moved: the leaf of the member that owns the part.
  Value first_output(interpreter::Expressions& all, int rank, Unit at) const {
    if (!only_moves(kind))
      return stage.source == sched::output || memory == Memory::in_place ? all.leaf(rank) : undefined;
    for (int member = 0; member < cast.size(); ++member)
      if (cast.ranks[static_cast<std::size_t>(member)] == rank && within(at, part(member))) return all.leaf(rank);
    return undefined;
  }

  /// The empty string, or what is wrong.
  std::string judge() const {
    const auto programs = generate(form, cast, stage);
    interpreter::Interpretation run(programs, memory, sends, seed);
    auto& all = run.expressions();
    const bool input_counts = !only_moves(kind) && stage.source == sched::input;
    const Outcome outcome = run({[&](int rank, Unit) { return input_counts ? all.leaf(rank) : undefined; },
                                 [&](int rank, Unit at) { return first_output(all, rank, at); }});
    if (!outcome.failure.empty()) return outcome.failure;
    std::string wrong;
    for (std::size_t i = 0; i + 1 < outcome.cuts.size() && wrong.empty(); ++i)
      if (within(outcome.cuts[i], stage.range)) wrong = judge(all, outcome, i);
    return wrong;
  }

  std::string judge(const interpreter::Expressions& all, const Outcome& outcome, std::size_t piece) const {
    auto contributors = cast.ranks;
    std::sort(contributors.begin(), contributors.end());
    Value agreed = undefined;
    for (int member = 0; member < cast.size(); ++member) {
      const bool owned = within(outcome.cuts[piece], part(member));
      if ((kind == FormKind::reduce_scatter || kind == FormKind::reduce) && !owned) continue;
      const int rank = cast.ranks[static_cast<std::size_t>(member)];
      const Value value = outcome.output[static_cast<std::size_t>(rank)][piece];
      if (value == undefined) return fmt::format("rank {} has nothing at piece {}", rank, piece);
      if (agreed != undefined && value != agreed) return fmt::format("rank {} has another expression", rank);
      agreed = value;
    }
    auto ranks = all.ranks(agreed);
    std::sort(ranks.begin(), ranks.end());
    if (!only_moves(kind))
      return ranks == contributors ? "" : fmt::format("reduces the ranks {}", fmt::join(ranks, " "));
    for (int member = 0; member < cast.size(); ++member)
      if (within(outcome.cuts[piece], part(member)) &&
          ranks != std::vector<int>{cast.ranks[static_cast<std::size_t>(member)]})
        return fmt::format("the part of member {} came from rank {}", member, ranks.front());
    return "";
  }
};

/// A different order of steps in every run of the tests; a seed that fails becomes a test of its own.
unsigned new_seed() {
  static std::random_device device;
  return device();
}

void try_once(const Trial& trial) {
  ASSERT_EQ(trial.judge(), "") << "seed " << trial.seed << ", source "
                               << (trial.stage.source == sched::input ? "input" : "output") << ", memory "
                               << static_cast<int>(trial.memory) << ", sends " << static_cast<int>(trial.sends);
}

/// Tries a form in all memories, places and kinds of sends; in a large group in one combination, by chance.
void try_everything(const Form& form, FormKind kind, const Cast& cast, Range range) {
  const unsigned drawn = new_seed();
  unsigned combination = 0;
  for (sched::Place source : {sched::input, sched::output})
    for (Memory memory : {Memory::separate, Memory::in_place})
      for (Sends sends : {Sends::rendezvous, Sends::buffered, Sends::mixed})
        if (cast.size() <= 12 || drawn % 12 == combination++)
          try_once({form, kind, cast, {range, source, 3}, memory, sends, drawn});
}

template <typename Body>
void for_each_form(Body body) {
  for (const Algorithm& algorithm : registry())
    for (FormKind kind : form_kinds)
      if (const Form form = form_of(algorithm, kind)) {
        SCOPED_TRACE(fmt::format("{} {}", algorithm.name, name_of(kind)));
        body(algorithm, form, kind);
      }
}

TEST(FlatAlgorithms, GiveTheContractOfTheirFormForOneToSixtyFourMembers) {
  for_each_form([](const Algorithm&, const Form& form, FormKind kind) {
    for (int members = 1; members <= 64; ++members) {
      SCOPED_TRACE(fmt::format("{} members", members));
      try_everything(form, kind, everybody(members), {});
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(FlatAlgorithms, WorkOnAPartOfASliceForMembersThatAreStridedRanksBackwards) {
  const Range third = part_of(part_of({}, 3, 1), 7, 5);
  for_each_form([&](const Algorithm&, const Form& form, FormKind kind) {
    for (int members : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 23, 33}) {
      SCOPED_TRACE(fmt::format("{} members", members));
      try_everything(form, kind, strided_backwards(members), third);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(FlatAlgorithms, TouchNothingOutsideOfTheRangeOfTheirStage) {
  const Range range = part_of({}, 5, 2);
  for_each_form([&](const Algorithm&, const Form& form, FormKind) {
    for (const Program& program : generate(form, everybody(6), {range, sched::input, 0}))
      for (const sched::Step& step : program.steps)
        ASSERT_TRUE(range.begin <= step.range.begin && step.range.end <= range.end) << sched::to_text(step);
  });
}

TEST(FlatAlgorithms, NeverWriteInput) {
  for_each_form([](const Algorithm&, const Form& form, FormKind) {
    for (const Program& program : generate(form, everybody(7), {}))
      for (const sched::Step& step : program.steps)
        ASSERT_TRUE(step.kind == sched::Kind::send || step.place != sched::input) << sched::to_text(step);
  });
}

TEST(FlatAlgorithms, GiveTheirLevelToEveryStep) {
  for_each_form([](const Algorithm&, const Form& form, FormKind) {
    for (const Program& program : generate(form, everybody(7), {{}, sched::input, 5}))
      for (const sched::Step& step : program.steps)
        ASSERT_EQ(step.tag.level, 5) << sched::to_text(step);
  });
}

TEST(FlatAlgorithms, CopyOnlyFromInputWhenTheyAreAlone) {
  for_each_form([](const Algorithm&, const Form& form, FormKind kind) {
    EXPECT_EQ(generate(form, everybody(1), {{}, sched::input, 0})[0].steps.size(), only_moves(kind) ? 0u : 1u);
    EXPECT_EQ(generate(form, everybody(1), {{}, sched::output, 0})[0].steps.size(), 0u);
  });
}

TEST(FlatAlgorithms, FollowEachOtherOnOneLevelWithoutTagsThatCollide) {
  // Reduce-scatter, all-gather, and an all-reduce of what is then everywhere: p times the sum.
  for (const Algorithm& algorithm : registry()) {
    if (!algorithm.reduce_scatter || !algorithm.all_gather) continue;
    SCOPED_TRACE(algorithm.name);
    static const Algorithm* sequence = nullptr;
    sequence = &algorithm;
    const Form all = {[](sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
                        sequence->reduce_scatter.generate(builder, group, stage);
                        sequence->all_gather.generate(builder, group, stage);
                        if (sequence->all_reduce)
                          sequence->all_reduce.generate(builder, group, {stage.range, sched::output, stage.level});
                      },
                      nullptr};
    for (int members : {2, 3, 5, 6, 8, 13}) {
      const auto programs = generate(all, everybody(members), {});
      interpreter::Interpretation run(programs, Memory::in_place, Sends::rendezvous, new_seed());
      const auto own = [&](int rank, Unit) { return run.expressions().leaf(rank); };
      const Outcome outcome = run({own, own});
      ASSERT_EQ(outcome.failure, "");
      EXPECT_EQ(run.expressions().ranks(outcome.output[0][0]).size(),
                static_cast<std::size_t>(algorithm.all_reduce ? members * members : members));
    }
  }
}

TEST(FlatAlgorithms, ReduceAndBroadcastInTwoGroupsWithAnAllReduceOfTheFirstMembersBetween) {
  for (const Algorithm& algorithm : registry()) {
    if (!algorithm.reduce || !algorithm.broadcast) continue;
    for (int members : {1, 2, 3, 5, 8}) {
      const int ranks = 2 * members;
      std::vector<Program> programs;
      for (int rank = 0; rank < ranks; ++rank) {
        sched::ProgramBuilder builder(rank, ranks);
        Group group;
        for (int member = 0; member < members; ++member)
          group.ranks.push_back(2 * member + rank % 2);
        group.self = rank / 2;
        algorithm.reduce.generate(builder, group, {{}, sched::input, 0});
        if (rank < 2) algorithm.all_reduce.generate(builder, {{0, 1}, rank}, {{}, sched::output, 1});
        algorithm.broadcast.generate(builder, group, {{}, sched::output, 0});
        programs.push_back(std::move(builder).finish());
      }
      interpreter::Interpretation run(programs, Memory::in_place, Sends::rendezvous, new_seed());
      const auto own = [&](int rank, Unit) { return run.expressions().leaf(rank); };
      const Outcome outcome = run({own, own});
      ASSERT_EQ(outcome.failure, "") << algorithm.name << ", " << members << " members";
      for (const auto& output : outcome.output) {
        EXPECT_EQ(output[0], outcome.output[0][0]);
        EXPECT_EQ(run.expressions().ranks(output[0]).size(), static_cast<std::size_t>(ranks));
      }
    }
  }
}

TEST(FlatAlgorithms, HaveReduceAndBroadcastTogether) {
  for (const Algorithm& algorithm : registry())
    EXPECT_EQ(static_cast<bool>(algorithm.reduce), static_cast<bool>(algorithm.broadcast)) << algorithm.name;
  EXPECT_TRUE(find("direct")->reduce);
  EXPECT_TRUE(find("binomial")->reduce);
}

TEST(FlatAlgorithms, ReduceInMemberOrderWhereTheySaySo) {
  for (const char* name :
       {"direct", "recursive_doubling", "binomial", "recursive_multiplying", "recursive_multiplying_8"})
    for (int members = 1; members <= 20; ++members) {
      const auto programs = generate(find(name)->all_reduce, everybody(members), {});
      interpreter::Interpretation run(programs, Memory::separate, Sends::mixed, new_seed());
      const auto own = [&](int rank, Unit) { return run.expressions().leaf(rank); };
      const Outcome outcome = run({own, own});
      EXPECT_EQ(run.expressions().ranks(outcome.output[0][0]), everybody(members).ranks) << name;
    }
}

TEST(FlatAlgorithms, AreFoundByNameAndNamedOnce) {
  for (const Algorithm& algorithm : registry())
    EXPECT_EQ(find(algorithm.name), &algorithm);
  EXPECT_EQ(find("rings"), nullptr);
  EXPECT_EQ(find(""), nullptr);
}

} // namespace
} // namespace strata::coll
