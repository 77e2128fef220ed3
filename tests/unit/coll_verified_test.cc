// SPDX-License-Identifier: BSD-3-Clause
// The verifier proves every form of every row of the registry.
#include "coll/algorithm.h"
#include "verify/verifier.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace strata::coll {
namespace {

using Kind = verify::Contract::Kind;
using sched::Program;
using sched::ProgramBuilder;

enum class Order { forwards, backwards };

/// Where a rank's contribution lies when the form begins.
enum class Before { input, output };

/// Who owns what before the form, or after it.
enum class Owners { everybody, first_member };

/// All ranks of a communicator as members of one group, the contract of a form included.
struct Everybody {
  Group group;
  verify::Contract contract;

  Everybody(int members, Order order, Kind kind, Owners owners) {
    contract.kind = kind;
    for (int rank = 0; rank < members; ++rank) {
      const int other = order == Order::forwards ? rank : members - 1 - rank;
      group.ranks.push_back(other);
      if (kind == Kind::all_reduce) continue;
      if (owners == Owners::everybody)
        contract.owned.push_back(sched::part_of({}, members, other));
      else
        contract.owned.push_back(other == 0 ? sched::Range{} : sched::Range{0, 0});
    }
  }

  std::vector<Program> programs(Generator generate, Before before) {
    std::vector<Program> all(group.ranks.size());
    for (group.self = 0; group.self < group.size(); ++group.self) {
      const auto rank = group.ranks[static_cast<std::size_t>(group.self)];
      ProgramBuilder builder(rank, group.size());
      Stage stage;
      if (before == Before::output && contract.kind != Kind::all_gather) {
        builder.copy({}, sched::output, sched::input, {9, 0, 0});
        stage.source = sched::output;
      }
      generate(builder, group, stage);
      all[static_cast<std::size_t>(rank)] = std::move(builder).finish();
    }
    return all;
  }
};

struct FormToProve {
  Form form;
  Kind kind;
  Owners owners;
};

template <typename Body>
void for_each_form_to_prove(Body body) {
  for (const Algorithm& algorithm : registry()) {
    // A reduce is a reduce-scatter after which one member owns all, a broadcast an all-gather before which one does.
    const FormToProve forms[] = {{algorithm.reduce_scatter, Kind::reduce_scatter, Owners::everybody},
                                 {algorithm.all_gather, Kind::all_gather, Owners::everybody},
                                 {algorithm.all_reduce, Kind::all_reduce, Owners::everybody},
                                 {algorithm.reduce, Kind::reduce_scatter, Owners::first_member},
                                 {algorithm.broadcast, Kind::all_gather, Owners::first_member}};
    for (const FormToProve& form : forms)
      if (form.form) body(algorithm, form);
  }
}

void expect_proof(const Algorithm& algorithm, const FormToProve& form, int members, Order order, Before before) {
  Everybody everybody(members, order, form.kind, form.owners);
  const Status proof = verify::verify(everybody.programs(form.form.generate, before), everybody.contract);
  EXPECT_TRUE(proof) << fmt::format("{}, form {}{}, {} members: {}", algorithm.name, static_cast<int>(form.kind),
                                    form.owners == Owners::first_member ? " of the first member" : "", members,
                                    proof.error().message);
}

TEST(FlatAlgorithms, AreProvedForOneToSixtyFourMembers) {
  for_each_form_to_prove([](const Algorithm& algorithm, const FormToProve& form) {
    for (int members = 1; members <= 64; ++members)
      expect_proof(algorithm, form, members, Order::forwards, Before::input);
  });
}

TEST(FlatAlgorithms, AreProvedForRanksBackwards) {
  for_each_form_to_prove([](const Algorithm& algorithm, const FormToProve& form) {
    for (int members : {1, 2, 3, 6, 7, 8, 13, 24})
      expect_proof(algorithm, form, members, Order::backwards, Before::input);
  });
}

TEST(FlatAlgorithms, AreProvedForContributionsThatAnInnerLevelLeftInOutput) {
  for_each_form_to_prove([](const Algorithm& algorithm, const FormToProve& form) {
    for (int members = 1; members <= 33; ++members)
      expect_proof(algorithm, form, members, Order::forwards, Before::output);
  });
}

} // namespace
} // namespace strata::coll
