// SPDX-License-Identifier: BSD-3-Clause
#include "verify/symbolic.h"

#include "verify/expressions.h"
#include "verify/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata::verify {

using namespace sched;

namespace {

using Node = Expressions::Node;
using Values = std::vector<Node>; // of consecutive intervals
constexpr Node undefined = Expressions::undefined;

class SymbolicRun {
public:
  SymbolicRun(const StepGraph& graph, const Intervals& intervals, const Contract& contract)
      : graph_(graph), intervals_(intervals), contract_(contract), expressions_(graph.programs().size()),
        sent_(graph.size()) {
    for (const Program& program : graph.programs()) {
      Memory memory = {Values(intervals.size(), undefined)};
      if (contract.kind == Contract::Kind::all_gather) {
        const auto rank = static_cast<std::size_t>(program.rank);
        for (std::size_t i : intervals.of(contract.owned[rank]))
          memory[0][i] = expressions_.leaf(rank);
      }
      memories_.push_back(std::move(memory));
    }
  }

  Status run(StepId id) {
    const Step& step = graph_.step(id);
    if (step.kind == Kind::send) {
      auto row = read(id, step.place);
      if (!row) return row.error();
      sent_[id] = *std::move(row);
      return ok();
    }
    std::vector<Values> rows; // per operand
    auto partner = graph_.partners(id).begin();
    for (const Operand& operand : step.operands) {
      if (operand.kind == Operand::Kind::message) {
        rows.push_back(sent_[*partner++]);
        continue;
      }
      auto row = read(id, operand.place);
      if (!row) return row.error();
      rows.push_back(*std::move(row));
    }
    return write(id, rows);
  }

  Status check_contract() {
    if (contract_.kind == Contract::Kind::all_gather) return check_all_gather();
    Values agreed(intervals_.size(), undefined);
    std::vector<std::size_t> agreed_by(intervals_.size());
    for (std::size_t rank = 0; rank < memories_.size(); ++rank) {
      const Range range = contract_.kind == Contract::Kind::all_reduce ? Range{} : contract_.owned[rank];
      for (std::size_t i : intervals_.of(range)) {
        const Node found = memories_[rank][0][i];
        if (Status status = check_sum(rank, i, found); !status) return status;
        if (agreed[i] == undefined) {
          agreed[i] = found;
          agreed_by[i] = rank;
        } else if (agreed[i] != found) {
          return wrong_end(rank, i,
                           fmt::format("is {}, but {} on rank {}", expressions_.to_text(found),
                                       expressions_.to_text(agreed[i]), agreed_by[i]));
        }
      }
    }
    return ok();
  }

private:
  using Memory = std::vector<Values>; // 0: output; 1 + region: scratch, absent or empty until it is written to

  static std::size_t index_of(Place place) { return place.buffer == Buffer::scratch ? 1u + place.region : 0u; }

  Result<Values> read(StepId id, Place place) {
    const std::size_t rank = graph_.rank(id);
    const Memory& memory = memories_[rank];
    const std::size_t index = index_of(place);
    const bool is_there = index < memory.size() && !memory[index].empty();
    Values row;
    for (std::size_t i : intervals_.of(graph_.step(id).range)) {
      Node value = is_there ? memory[index][i] : undefined;
      if (place.buffer == Buffer::input) {
        if (contract_.kind == Contract::Kind::all_gather)
          return refuse(id, "reads input, but an all-gather starts from output");
        if (value != undefined && value != expressions_.leaf(rank))
          return refuse(id, fmt::format("reads input{}, which step {} overwrites when the call is in place",
                                        to_text(intervals_.range(i)), last_writer(rank, i, graph_.index(id))));
        value = expressions_.leaf(rank);
      }
      if (value == undefined)
        return refuse(
            id, fmt::format("reads {}{}, which nothing was written to", to_text(place), to_text(intervals_.range(i))));
      row.push_back(value);
    }
    return row;
  }

  Status write(StepId id, const std::vector<Values>& rows) {
    const Step& step = graph_.step(id);
    Memory& all = memories_[graph_.rank(id)];
    all.resize(std::max(all.size(), index_of(step.place) + 1));
    Values& memory = all[index_of(step.place)];
    if (memory.empty()) memory.assign(intervals_.size(), undefined);
    Values operands(rows.size());
    std::size_t column = 0;
    for (std::size_t i : intervals_.of(step.range)) {
      for (std::size_t row = 0; row < rows.size(); ++row)
        operands[row] = rows[row][column];
      ++column;
      memory[i] = expressions_.reduce(operands);
      if (memory[i] == Expressions::counted_twice) return refuse(id, told_twice(operands, intervals_.range(i)));
    }
    return ok();
  }

  std::string told_twice(const Values& operands, Range range) const {
    const std::size_t ranks = memories_.size();
    for (std::size_t b = 1; b < operands.size(); ++b)
      for (std::size_t a = 0; a < b; ++a)
        if (const std::size_t rank = expressions_.first_common(operands[a], operands[b]); rank < ranks)
          return fmt::format("counts rank {} twice at {}: operand {} is {}, operand {} is {}", rank, to_text(range), a,
                             expressions_.to_text(operands[a]), b, expressions_.to_text(operands[b]));
    return {};
  }

  Status check_sum(std::size_t rank, std::size_t interval, Node found) const {
    if (found == undefined) return wrong_end(rank, interval, "is never written to");
    const std::size_t missing = expressions_.first_missing(found);
    if (missing == memories_.size()) return ok();
    return wrong_end(rank, interval,
                     fmt::format("lacks the contribution of rank {}: {}", missing, expressions_.to_text(found)));
  }

  Status check_all_gather() const {
    for (std::size_t rank = 0; rank < memories_.size(); ++rank)
      for (std::size_t owner = 0; owner < memories_.size(); ++owner)
        for (std::size_t i : intervals_.of(contract_.owned[owner])) {
          const Node found = memories_[rank][0][i];
          if (found != expressions_.leaf(owner))
            return wrong_end(rank, i,
                             fmt::format("holds {} instead of what rank {} had", expressions_.to_text(found), owner));
        }
    return ok();
  }

  /// The last step before `end` that writes output at an interval, or -1. Steps that conflict are listed in the order
  /// in which they happen.
  StepIndex last_writer(std::size_t rank, std::size_t interval, StepIndex end) const {
    const Unit begin = intervals_.range(interval).begin;
    for (StepIndex index = end - 1; index >= 0; --index) {
      const Step& step = graph_.step(graph_.id(rank, index));
      if (step.kind != Kind::send && step.place == output && step.range.begin <= begin && begin < step.range.end)
        return index;
    }
    return -1;
  }

  Error wrong_end(std::size_t rank, std::size_t interval, const std::string& what) const {
    const Program& program = graph_.programs()[rank];
    const std::string where = fmt::format("output{} in the end ", to_text(intervals_.range(interval)));
    const StepIndex writer = last_writer(rank, interval, static_cast<StepIndex>(program.steps.size()));
    if (writer >= 0) return refusal(program, writer, where + what);
    return {ErrorKind::argument, fmt::format("rank {}, no step: {}{}", rank, where, what)};
  }

  Error refuse(StepId id, const std::string& reason) const {
    return refusal(graph_.program(id), graph_.index(id), reason);
  }

  const StepGraph& graph_;
  const Intervals& intervals_;
  const Contract& contract_;
  Expressions expressions_;
  std::vector<Memory> memories_;
  std::vector<Values> sent_; // per send
};

} // namespace

Status run_symbolically(const StepGraph& graph, const Intervals& intervals, std::span<const StepId> order,
                        const Contract& contract) {
  SymbolicRun run(graph, intervals, contract);
  for (StepId id : order)
    if (Status status = run.run(id); !status) return status;
  return run.check_contract();
}

} // namespace strata::verify
