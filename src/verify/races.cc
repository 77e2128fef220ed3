// SPDX-License-Identifier: BSD-3-Clause
#include "verify/races.h"

#include "verify/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata::verify {

using namespace sched;

namespace {

/// What has certainly happened when one step starts.
///
/// Most conflicting steps are direct dependencies; only for the others is the rank's own graph searched, and only
/// where that does not help the graph of all ranks.
class Past {
public:
  explicit Past(const StepGraph& graph) : graph_(graph), completed_(graph.size()), started_(graph.size()) {}

  void of(StepId step) {
    for (StepId id : touched_)
      completed_[id] = started_[id] = false;
    touched_.clear();
    step_ = step;
    scope_ = Scope::direct;
  }

  bool has_completed(StepId earlier) {
    const auto& direct = graph_.step(step_).dependencies;
    if (std::binary_search(direct.begin(), direct.end(), graph_.index(earlier))) return true;
    if (scope_ == Scope::direct) search(Scope::rank);
    if (completed_[earlier]) return true;
    if (scope_ == Scope::rank) search(Scope::all);
    if (completed_[earlier]) return true;
    const auto receivers = graph_.partners(earlier);
    return graph_.is_send(earlier) &&
           std::all_of(receivers.begin(), receivers.end(), [&](StepId receiver) { return completed_[receiver]; });
  }

private:
  enum class Scope { direct, rank, all };

  void search(Scope scope) {
    of(step_);
    scope_ = scope;
    add_dependencies(step_);
    while (!pending_.empty()) {
      const StepId id = pending_.back(); // it has started
      pending_.pop_back();
      add_dependencies(id);
      // Only of sends is it ever known that they have started, but not that they have completed.
      if (scope == Scope::rank || graph_.is_send(id)) continue;
      for (StepId send : graph_.partners(id))
        add_start(send);
    }
  }

  void add_dependencies(StepId id) {
    for (StepIndex dependency : graph_.step(id).dependencies) {
      const StepId before = graph_.id(graph_.rank(id), dependency);
      completed_[before] = true;
      add_start(before);
    }
  }

  void add_start(StepId id) {
    if (started_[id]) return;
    started_[id] = true;
    touched_.push_back(id);
    pending_.push_back(id);
  }

  const StepGraph& graph_;
  StepId step_ = 0;
  Scope scope_ = Scope::direct;
  std::vector<bool> completed_;
  std::vector<bool> started_;
  std::vector<StepId> touched_;
  std::vector<StepId> pending_;
};

/// The steps since the last write to one interval of one memory, which a later step must follow.
struct Accesses {
  static constexpr StepId nobody = ~StepId{0};
  StepId writer = nobody;
  std::vector<StepId> readers;
};

class RankCheck {
public:
  RankCheck(const StepGraph& graph, const Intervals& intervals, Past& past)
      : graph_(graph), intervals_(intervals), past_(past) {}

  Status check(StepId id) {
    const Step& step = graph_.step(id);
    past_.of(id);
    if (step.kind == Kind::send) return read(id, step.place);
    for (const Operand& operand : step.operands)
      if (operand.kind == Operand::Kind::local)
        if (Status status = read(id, operand.place); !status) return status;
    return write(id, step.place);
  }

private:
  std::vector<Accesses>& memory(Place place) {
    const int key = place.buffer == Buffer::scratch ? 1 + place.region : 0; // input and output may be the same
    auto& found = memories_[key];
    if (found.empty()) found.resize(intervals_.size());
    return found;
  }

  Status read(StepId id, Place place) {
    auto& accesses = memory(place);
    for (std::size_t i : intervals_.of(graph_.step(id).range)) {
      if (Status status = follows(id, accesses[i].writer, "read", "written", place, i); !status) return status;
      accesses[i].readers.push_back(id);
    }
    return ok();
  }

  Status write(StepId id, Place place) {
    auto& accesses = memory(place);
    for (std::size_t i : intervals_.of(graph_.step(id).range)) {
      if (Status status = follows(id, accesses[i].writer, "written", "written", place, i); !status) return status;
      for (StepId reader : accesses[i].readers)
        if (Status status = follows(id, reader, "written", "read", place, i); !status) return status;
      accesses[i].writer = id;
      accesses[i].readers.clear();
    }
    return ok();
  }

  Status follows(StepId later, StepId earlier, const char* now, const char* before, Place place, std::size_t interval) {
    if (earlier == Accesses::nobody || earlier == later || past_.has_completed(earlier)) return ok();
    const std::string reason =
        fmt::format("{}{} is {} here and {} in step {}, and nothing makes this step wait for that one", to_text(place),
                    to_text(intervals_.range(interval)), now, before, graph_.index(earlier));
    return refusal(graph_.program(later), graph_.index(later), reason);
  }

  const StepGraph& graph_;
  const Intervals& intervals_;
  Past& past_;
  std::map<int, std::vector<Accesses>> memories_; // 0: input and output; 1 + region: scratch
};

} // namespace

Status check_races(const StepGraph& graph, const Intervals& intervals) {
  Past past(graph);
  StepId id = 0;
  for (const Program& program : graph.programs()) {
    RankCheck rank(graph, intervals, past);
    for (std::size_t i = 0; i < program.steps.size(); ++i, ++id)
      if (Status status = rank.check(id); !status) return status;
  }
  return ok();
}

} // namespace strata::verify
