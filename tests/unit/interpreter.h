// SPDX-License-Identifier: BSD-3-Clause
// Runs the programs of all ranks on symbolic values, step by step in a random order that the rules of sched/schedule.h
// allow: an oracle for generators that shares nothing with the verifier. It tries one order where the verifier proves
// all of them, but it is simple enough to be believed by reading.
//
// A value is an expression over contributions; two values are the same number exactly if they are the same expression.
// A message that is not buffered is read from the sender's memory at the moment when the receiver takes it.
#pragma once

#include "sched/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace strata::interpreter {

using sched::Unit;

/// An expression's number; equal numbers are equal expressions.
using Value = int;
inline constexpr Value undefined = -1;

/// All expressions that a run has met, each once.
class Expressions {
public:
  Value leaf(int rank) { return intern({rank}, true); }
  /// The operands combined from left to right and rounded once.
  Value combine(const std::vector<Value>& operands) { return intern(operands, false); }
  /// The ranks whose contributions are in it, from left to right.
  const std::vector<int>& ranks(Value value) const { return ranks_[static_cast<std::size_t>(value)]; }

private:
  Value intern(const std::vector<int>& parts, bool is_leaf) {
    const auto [found, added] = known_.try_emplace({is_leaf, parts}, static_cast<Value>(ranks_.size()));
    if (!added) return found->second;
    std::vector<int> all;
    if (is_leaf)
      all = parts;
    else
      for (Value part : parts)
        all.insert(all.end(), ranks(part).begin(), ranks(part).end());
    ranks_.push_back(std::move(all));
    return found->second;
  }

  std::map<std::pair<bool, std::vector<int>>, Value> known_;
  std::vector<std::vector<int>> ranks_;
};

enum class Memory { separate, in_place }; ///< Whether input and output are one memory.
enum class Sends { rendezvous, buffered, mixed };

/// What a rank has at a unit of input and of output before the first step. In place only `output` counts.
struct Start {
  std::function<Value(int rank, Unit at)> input;
  std::function<Value(int rank, Unit at)> output;
};

struct Outcome {
  std::string failure;                    ///< Empty: all steps ran and nothing undefined was read.
  std::vector<Unit> cuts;                 ///< Values are constant between neighbouring cuts.
  std::vector<std::vector<Value>> output; ///< By rank, then by the cut where a piece begins.
  int rounds = 0;                         ///< The longest chain of messages that each needed the one before.
};

class Interpretation {
public:
  Interpretation(const std::vector<sched::Program>& programs, Memory memory, Sends sends, unsigned seed)
      : programs_(programs), memory_(memory), sends_(sends), random_(seed) {}

  Outcome operator()(const Start& start) {
    cut();
    fill(start);
    enlist();
    while (!ready_.empty() && outcome_.failure.empty()) {
      std::swap(ready_[random_() % ready_.size()], ready_.back());
      const At next = ready_.back();
      ready_.pop_back();
      perform(next);
    }
    if (outcome_.failure.empty()) name_what_waits();
    for (const auto& buffers : contents_)
      outcome_.output.push_back(buffers[1]);
    return std::move(outcome_);
  }

private:
  struct At {
    int rank;
    int step;
  };
  struct State {
    int missing = 0; ///< Dependencies and messages that have not come.
    int untaken = 0; ///< Receivers that have not taken the message of this send.
    int depth = 0;   ///< Messages one after the other until here.
    bool done = false;
    std::vector<int> successors;
    std::vector<std::vector<Value>> snapshot; ///< A buffered send: what it sent.
  };
  using Key = std::tuple<int, int, int, int, int, Unit>; // sender, receiver, level, phase, round, begin

  static Key key(int sender, int receiver, sched::Tag tag, Unit begin) {
    return {sender, receiver, tag.level, tag.phase, tag.round, begin};
  }
  const sched::Step& step(At at) const {
    return programs_[static_cast<std::size_t>(at.rank)].steps[static_cast<std::size_t>(at.step)];
  }
  State& state(At at) { return states_[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.step)]; }
  std::size_t piece(Unit at) const {
    return static_cast<std::size_t>(std::lower_bound(outcome_.cuts.begin(), outcome_.cuts.end(), at) -
                                    outcome_.cuts.begin());
  }
  std::vector<Value>& content(int rank, sched::Place place) {
    auto& buffers = contents_[static_cast<std::size_t>(rank)];
    if (place.buffer == sched::Buffer::scratch) return buffers.at(2u + place.region);
    return buffers[place.buffer == sched::Buffer::output || memory_ == Memory::in_place ? 1 : 0];
  }
  void fail(At at, const std::string& reason) {
    if (outcome_.failure.empty())
      outcome_.failure = fmt::format("rank {} step {} ({}): {}", at.rank, at.step, sched::to_text(step(at)), reason);
  }

  void cut() {
    auto& cuts = outcome_.cuts;
    cuts = {0, sched::whole};
    for (const sched::Program& program : programs_)
      for (const sched::Step& one : program.steps)
        cuts.insert(cuts.end(), {one.range.begin, one.range.end});
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }

  void fill(const Start& start) {
    const std::size_t pieces = outcome_.cuts.size() - 1;
    for (const sched::Program& program : programs_) {
      auto& buffers = contents_.emplace_back(2u + program.scratch_regions, std::vector<Value>(pieces, undefined));
      for (std::size_t i = 0; i < pieces; ++i) {
        buffers[0][i] = start.input(program.rank, outcome_.cuts[i]);
        buffers[1][i] = start.output(program.rank, outcome_.cuts[i]);
      }
    }
  }

  void enlist() {
    for (const sched::Program& program : programs_) {
      states_.emplace_back(program.steps.size());
      for (int index = 0; index < static_cast<int>(program.steps.size()); ++index) {
        const At at{program.rank, index};
        for (sched::StepIndex dependency : step(at).dependencies) {
          if (dependency < 0 || dependency >= index) return fail(at, "depends on a later step");
          state({at.rank, dependency}).successors.push_back(index);
          ++state(at).missing;
        }
        for (const sched::Operand& operand : step(at).operands) {
          if (operand.kind != sched::Operand::Kind::message) continue;
          ++state(at).missing;
          if (!takers_.try_emplace(key(operand.peer, at.rank, operand.tag, step(at).range.begin), at).second)
            return fail(at, "another step takes this message too");
        }
        if (state(at).missing == 0) ready_.push_back(at);
      }
    }
  }

  void one_less_missing(At at, int depth) {
    state(at).depth = std::max(state(at).depth, depth);
    if (--state(at).missing == 0) ready_.push_back(at);
  }

  void complete(At at) {
    state(at).done = true;
    outcome_.rounds = std::max(outcome_.rounds, state(at).depth);
    for (int successor : state(at).successors)
      one_less_missing({at.rank, successor}, state(at).depth);
  }

  std::vector<Value> read(At at, int rank, sched::Place place) {
    const auto& all = content(rank, place);
    const auto first = static_cast<std::ptrdiff_t>(piece(step(at).range.begin));
    const auto last = static_cast<std::ptrdiff_t>(piece(step(at).range.end));
    std::vector<Value> values(all.begin() + first, all.begin() + last);
    if (std::find(values.begin(), values.end(), undefined) != values.end()) fail(at, "reads what nobody wrote");
    return values;
  }

  void perform(At at) { step(at).kind == sched::Kind::send ? post(at) : compute(at); }

  void post(At at) {
    State& sender = state(at);
    sender.untaken = static_cast<int>(step(at).peers.size());
    const bool buffered = sends_ == Sends::buffered || (sends_ == Sends::mixed && random_() % 2 == 0);
    if (buffered) sender.snapshot.push_back(read(at, at.rank, step(at).place));
    for (int peer : step(at).peers) {
      const auto name = key(at.rank, peer, step(at).tag, step(at).range.begin);
      const auto taker = takers_.find(name);
      if (taker == takers_.end()) return fail(at, fmt::format("rank {} does not take it", peer));
      if (step(taker->second).range != step(at).range) return fail(taker->second, "its message has another range");
      if (!posted_.try_emplace(name, at).second) return fail(at, "was sent before");
      one_less_missing(taker->second, sender.depth + 1);
    }
    if (buffered) complete(at);
  }

  std::vector<Value> take(At at, const sched::Operand& operand) {
    if (operand.kind == sched::Operand::Kind::local) return read(at, at.rank, operand.place);
    const At sender = posted_.at(key(operand.peer, at.rank, operand.tag, step(at).range.begin));
    State& sending = state(sender);
    if (!sending.snapshot.empty()) return sending.snapshot.front();
    auto values = read(sender, sender.rank, step(sender).place);
    if (--sending.untaken == 0) complete(sender);
    return values;
  }

  void compute(At at) {
    std::vector<std::vector<Value>> operands;
    for (const sched::Operand& operand : step(at).operands)
      operands.push_back(take(at, operand));
    if (!outcome_.failure.empty()) return;
    auto& target = content(at.rank, step(at).place);
    const std::size_t first = piece(step(at).range.begin);
    for (std::size_t i = 0; i < operands.front().size(); ++i) {
      std::vector<Value> column;
      for (const auto& operand : operands)
        column.push_back(operand[i]);
      target[first + i] = step(at).kind == sched::Kind::reduce ? expressions_.combine(column) : column.front();
    }
    complete(at);
  }

  void name_what_waits() {
    for (const sched::Program& program : programs_)
      for (int index = 0; index < static_cast<int>(program.steps.size()); ++index)
        if (!state({program.rank, index}).done) return fail({program.rank, index}, "never completes");
  }

public:
  /// The expressions of this run; the leaves that Start gives must come from here.
  Expressions& expressions() { return expressions_; }

private:
  const std::vector<sched::Program>& programs_;
  const Memory memory_;
  const Sends sends_;
  std::mt19937 random_;
  Expressions expressions_;
  Outcome outcome_;
  std::vector<std::vector<std::vector<Value>>> contents_; // by rank; input, output, scratch…; piece
  std::vector<std::vector<State>> states_;
  std::vector<At> ready_;
  std::map<Key, At> takers_, posted_;
};

} // namespace strata::interpreter
