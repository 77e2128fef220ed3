// SPDX-License-Identifier: BSD-3-Clause
// The programs of all ranks in flat arrays, with both ends of every message found: what the simulator runs.
#pragma once

#include "base/result.h"
#include "sched/schedule.h"

#include <functional>
#include <span>
#include <vector>

namespace strata::sim {

/// Index of a step among those of all ranks, or of a message.
using Index = std::int32_t;

struct Message {
  std::int32_t sender;
  std::int32_t receiver;
  Index sent_by;  ///< step
  Index taken_by; ///< step
};

/// What the simulator needs of a step; its other parts are in arrays from `first_...` of this step to that of the next.
struct FlatStep {
  sched::Kind kind = sched::Kind::copy;
  std::uint8_t level = 0;           ///< of its tag
  std::uint32_t dependencies = 0;   ///< how many
  std::uint32_t local_operands = 0; ///< how many
  sched::Range range{};
  Index first_successor = 0; ///< in Workload::successors
  Index first_message = 0;   ///< in Workload::messages_of_steps
};

class Workload {
public:
  /// Takes the programs of ranks 0 to `ranks` - 1, one after the other.
  /// \return an Error that names rank and step if a dependency or a peer is none, or if a message has not exactly one
  /// sender and one receiver with the same range: its receiver would wait for ever.
  static Result<Workload> from(std::int32_t ranks, const std::function<sched::Program(std::int32_t)>& program_of);

  std::int32_t ranks() const { return static_cast<std::int32_t>(first_steps_.size()) - 1; }
  Index steps() const { return static_cast<Index>(steps_.size()) - 1; }
  /// The steps of a rank: from first_step(rank) to first_step(rank + 1), in the order of its program.
  Index first_step(std::int32_t rank) const { return first_steps_[static_cast<std::size_t>(rank)]; }
  const FlatStep& step(Index step) const { return steps_[static_cast<std::size_t>(step)]; }
  /// Steps that depend on `step`.
  std::span<const Index> successors(Index step) const {
    return part(successors_, this->step(step).first_successor, this->step(step + 1).first_successor);
  }
  /// The messages that a step sends, in the order of its peers, or takes, in the order of its operands.
  std::span<const Index> messages_of(Index step) const {
    return part(messages_of_steps_, this->step(step).first_message, this->step(step + 1).first_message);
  }
  std::span<const Message> messages() const { return messages_; }

private:
  /// One end of a message, as its step names it.
  struct End {
    std::int32_t sender, receiver;
    std::uint32_t tag;
    sched::Unit begin;
    Index step;
    Index place; ///< in messages_of_steps_
    auto key() const { return std::tuple(sender, receiver, tag, begin); }
  };

  static std::span<const Index> part(const std::vector<Index>& all, Index begin, Index end) {
    return {all.data() + begin, all.data() + end};
  }
  Status append(const sched::Program& program, std::vector<End>& sends, std::vector<End>& takes);
  Status append_step(const sched::Program& program, std::size_t index, std::vector<End>& sends,
                     std::vector<End>& takes);
  void append_successors(const sched::Program& program);
  Status match(std::vector<End>& sends, std::vector<End>& takes);
  std::string name_of(std::int32_t rank, Index step) const;

  std::vector<Index> first_steps_; ///< by rank, and one more
  std::vector<FlatStep> steps_;    ///< and one more
  std::vector<Index> successors_;
  std::vector<Index> messages_of_steps_;
  std::vector<Message> messages_;
};

} // namespace strata::sim
