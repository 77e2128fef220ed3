// SPDX-License-Identifier: BSD-3-Clause
#include "verify/step_graph.h"

#include "verify/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace strata::verify {

using namespace sched;

namespace {

/// One end of a message: a send and one of its peers, or a step and one of its message operands.
struct MessageEnd {
  std::int32_t sender = 0;
  std::int32_t receiver = 0;
  Tag tag{};
  Range range{};
  StepId step = 0;
  std::size_t slot = 0; // of the step's partner at the other end

  auto key() const { return std::tuple(sender, receiver, tag.level, tag.phase, tag.round, range.begin); }
};

std::string text_of(const MessageEnd& end) {
  return fmt::format("message {} at {} from rank {} to rank {}", to_text(end.tag), to_text(end.range), end.sender,
                     end.receiver);
}

Error refuse(const StepGraph& graph, const MessageEnd& end, const std::string& reason) {
  return refusal(graph.program(end.step), graph.index(end.step), reason);
}

std::optional<Error> repetition(const StepGraph& graph, const std::vector<MessageEnd>& ends, const char* verb) {
  for (std::size_t i = 1; i < ends.size(); ++i)
    if (ends[i].key() == ends[i - 1].key())
      return refuse(graph, ends[i],
                    fmt::format("{} {}, as step {} does", verb, text_of(ends[i]), graph.index(ends[i - 1].step)));
  return {};
}

/// The first difference between the sorted messages that are sent and those that are taken.
std::optional<Error> difference(const StepGraph& graph, const std::vector<MessageEnd>& sent,
                                const std::vector<MessageEnd>& taken) {
  for (std::size_t i = 0; i < sent.size() || i < taken.size(); ++i) {
    if (i == taken.size() || (i < sent.size() && sent[i].key() < taken[i].key()))
      return refuse(graph, sent[i], fmt::format("no step takes {}", text_of(sent[i])));
    if (i == sent.size() || taken[i].key() < sent[i].key())
      return refuse(graph, taken[i], fmt::format("no step sends {}", text_of(taken[i])));
    if (sent[i].range != taken[i].range)
      return refuse(graph, taken[i],
                    fmt::format("takes {}, but {} sends {}", to_text(taken[i].range),
                                short_name_of(graph.program(sent[i].step), graph.index(sent[i].step)),
                                to_text(sent[i].range)));
  }
  return {};
}

} // namespace

Result<StepGraph> StepGraph::join(std::span<const Program> programs) {
  StepGraph graph;
  graph.programs_ = programs;
  std::vector<MessageEnd> sent;
  std::vector<MessageEnd> taken;
  std::size_t slot = 0;
  for (const Program& program : programs) {
    graph.first_.push_back(graph.rank_.size());
    for (const Step& step : program.steps) {
      const StepId id = graph.rank_.size();
      graph.rank_.push_back(static_cast<std::size_t>(program.rank));
      graph.offset_.push_back(slot);
      for (std::int32_t peer : step.peers)
        sent.push_back({program.rank, peer, step.tag, step.range, id, slot++});
      for (const Operand& operand : step.operands)
        if (operand.kind == Operand::Kind::message)
          taken.push_back({operand.peer, program.rank, operand.tag, step.range, id, slot++});
    }
  }
  graph.offset_.push_back(slot);

  const auto by_key = [](const MessageEnd& a, const MessageEnd& b) {
    return std::tuple(a.key(), a.step) < std::tuple(b.key(), b.step);
  };
  std::sort(sent.begin(), sent.end(), by_key);
  std::sort(taken.begin(), taken.end(), by_key);
  if (auto error = repetition(graph, sent, "sends")) return *std::move(error);
  if (auto error = repetition(graph, taken, "takes")) return *std::move(error);
  if (auto error = difference(graph, sent, taken)) return *std::move(error);

  graph.partners_.resize(slot);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    graph.partners_[sent[i].slot] = taken[i].step;
    graph.partners_[taken[i].slot] = sent[i].step;
  }
  return graph;
}

} // namespace strata::verify
