// SPDX-License-Identifier: BSD-3-Clause
// Flat algorithms: collectives among the members of one group, over links that are all alike. The hierarchy
// (src/hier) is made of these, one per level. A family per file; to add one, write its file and its registry row.
#pragma once

#include "sched/builder.h"

#include <span>
#include <string_view>
#include <vector>

namespace strata::coll {

/// The ranks that work together on one range, in an order that all of them know.
struct Group {
  std::vector<std::int32_t> ranks; ///< Ranks in the communicator, each once.
  int self = 0;                    ///< This rank's index in `ranks`.
  int size() const { return static_cast<int>(ranks.size()); }
};

/// What a group works on.
struct Stage {
  sched::Range range{};
  sched::Place source =
      sched::input;       ///< Where this rank's own contribution lies: input, or output after an inner level.
  std::uint8_t level = 0; ///< Goes into the tags.
};

/// What a form costs one member, in counts that a cost model multiplies with the numbers of a link. Fractions are
/// relative to the bytes of the stage's range. The busiest member counts.
struct Cost {
  double rounds = 0;    ///< Messages one after the other on the critical path.
  double messages = 0;  ///< Messages sent, a set of receivers counted once per receiver.
  double sent = 0;      ///< Fraction sent over links, counted once per receiver.
  double published = 0; ///< Fraction written when one write serves all receivers (shared memory).
  double received = 0;  ///< Fraction taken from peers.
  double reduced = 0;   ///< Fraction read by reductions: the sum over all operands.
  double copied = 0;    ///< Fraction copied locally, so that a send of it need not end before the result is written.
  /// Of trees, whose members pass on what others gave them: messages that are sent one after the other until the last
  /// member has its result, and the fraction that links carry one after the other for that. 0: no more than of the
  /// busiest member.
  double chain_messages = 0, chain = 0;
};

/// Appends this rank's steps to the builder.
using Generator = void (*)(sched::ProgramBuilder& builder, const Group& group, const Stage& stage);
using CostFunction = Cost (*)(int members);

/// A form of an algorithm; absent when `generate` is null.
struct Form {
  Generator generate = nullptr;
  CostFunction cost = nullptr;
  explicit operator bool() const { return generate != nullptr; }
};

/// A row of the registry. All forms work for any number of members >= 1 (1: at most a copy from source to output).
///  - reduce_scatter: afterwards member i holds the reduction of part_of(range, size, i), in output. Other parts of
///    output may have been overwritten with partial results; input is not written (but may be the same memory).
///  - all_gather: before, member i holds part_of(range, size, i) in output; afterwards all of the range. Stage::source
///    is not read.
///  - all_reduce: afterwards every member holds the reduction of the range, in output, with the same expression
///    (operand order and association) on every member.
///  - reduce: member 0 holds the reduction of the range, in output. Other members' output may hold partial results.
///  - broadcast: before, member 0 holds the range in output; afterwards all members. Stage::source is not read.
struct Algorithm {
  std::string_view name;   ///< As options spell it: "direct", "ring", …
  std::string_view source; ///< Paper and section.
  Form reduce_scatter;
  Form all_gather;
  Form all_reduce;
  Form reduce{};
  Form broadcast{};
};

/// All algorithms, in a fixed order.
std::span<const Algorithm> registry();

/// The row of that name, or null.
const Algorithm* find(std::string_view name);

} // namespace strata::coll
