// SPDX-License-Identifier: BSD-3-Clause
// Rule 2 of the verifier: every message has one send and one receiving step, with equal ranges. What that finds, the
// steps of all ranks joined by their messages, is what the other rules walk over.
#pragma once

#include "base/result.h"
#include "sched/schedule.h"

#include <span>
#include <vector>

namespace strata::verify {

/// A step of any rank: the steps of rank 0 come first, then those of rank 1, and so on.
using StepId = std::size_t;

class StepGraph {
public:
  /// Joins the sends and the receiving steps of well-formed programs, which must outlive the graph.
  static Result<StepGraph> join(std::span<const sched::Program> programs);

  std::span<const sched::Program> programs() const { return programs_; }
  std::size_t size() const { return rank_.size(); }

  std::size_t rank(StepId id) const { return rank_[id]; }
  sched::StepIndex index(StepId id) const { return static_cast<sched::StepIndex>(id - first_[rank_[id]]); }
  StepId id(std::size_t rank, sched::StepIndex index) const { return first_[rank] + static_cast<StepId>(index); }
  const sched::Program& program(StepId id) const { return programs_[rank_[id]]; }
  const sched::Step& step(StepId id) const { return program(id).steps[id - first_[rank_[id]]]; }
  bool is_send(StepId id) const { return step(id).kind == sched::Kind::send; }

  /// Of a send: the steps that take its message, in the order of its peers. Of another step: the sends of its message
  /// operands, in their order.
  std::span<const StepId> partners(StepId id) const {
    return std::span(partners_).subspan(offset_[id], offset_[id + 1] - offset_[id]);
  }

private:
  std::span<const sched::Program> programs_;
  std::vector<StepId> first_; // per rank
  std::vector<std::size_t> rank_;
  std::vector<std::size_t> offset_; // per step and one more, into partners_
  std::vector<StepId> partners_;
};

} // namespace strata::verify
