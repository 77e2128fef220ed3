// SPDX-License-Identifier: BSD-3-Clause
#include "verify/progress.h"

#include "verify/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::verify {

using namespace sched;

namespace {

class StrictRun {
public:
  explicit StrictRun(const StepGraph& graph)
      : graph_(graph), missing_(graph.size()), untaken_(graph.size()), completed_(graph.size()),
        dependents_(graph.size()) {
    for (StepId id = 0; id < graph.size(); ++id) {
      const Step& step = graph.step(id);
      missing_[id] = step.dependencies.size();
      (step.kind == Kind::send ? untaken_ : missing_)[id] += graph.partners(id).size();
      for (StepIndex dependency : step.dependencies)
        dependents_[graph.id(graph.rank(id), dependency)].push_back(id);
      if (missing_[id] == 0) order_.push_back(id);
    }
  }

  Result<std::vector<StepId>> run() {
    for (std::size_t next = 0; next < order_.size(); ++next) {
      const StepId id = order_[next];
      if (graph_.is_send(id)) {
        for (StepId receiver : graph_.partners(id))
          provide(receiver);
      } else {
        complete(id);
        for (StepId send : graph_.partners(id))
          if (--untaken_[send] == 0) complete(send);
      }
    }
    const auto stuck = std::find(completed_.begin(), completed_.end(), false);
    if (stuck == completed_.end()) return std::move(order_);
    return cycle_from(static_cast<StepId>(stuck - completed_.begin()));
  }

private:
  void provide(StepId id) {
    if (--missing_[id] == 0) order_.push_back(id);
  }

  void complete(StepId id) {
    completed_[id] = true;
    for (StepId dependent : dependents_[id])
      provide(dependent);
  }

  /// A step that `id`, which has not completed, waits for.
  StepId blocker(StepId id) const {
    for (StepIndex dependency : graph_.step(id).dependencies)
      if (const StepId before = graph_.id(graph_.rank(id), dependency); !completed_[before]) return before;
    for (StepId partner : graph_.partners(id)) {
      // A send that started has nothing missing; a receiver that completed took the message.
      if (graph_.is_send(id) ? !completed_[partner] : missing_[partner] > 0) return partner;
    }
    return id;
  }

  std::string why(StepId id, StepId blocker) const {
    const char* what = graph_.rank(id) == graph_.rank(blocker) ? "to complete"
                       : graph_.is_send(id)                    ? "to take its message"
                                                               : "to send";
    return fmt::format("waits for {} {}", short_name_of(graph_.program(blocker), graph_.index(blocker)), what);
  }

  Error cycle_from(StepId start) const {
    std::vector<bool> seen(graph_.size());
    while (!seen[start]) {
      seen[start] = true;
      start = blocker(start);
    }
    std::string text = why(start, blocker(start));
    int shown = 1;
    for (StepId id = blocker(start); id != start; id = blocker(id)) {
      if (++shown > 6) {
        text += ", and so on in a cycle";
        break;
      }
      text += ", which " + why(id, blocker(id));
    }
    return refusal(graph_.program(start), graph_.index(start), "deadlock: " + text);
  }

  const StepGraph& graph_;
  std::vector<std::size_t> missing_; // dependencies that have not completed, and messages whose send has not started
  std::vector<std::size_t> untaken_; // of a send: receivers that have not completed
  std::vector<bool> completed_;
  std::vector<std::vector<StepId>> dependents_;
  std::vector<StepId> order_; // steps that have nothing missing, in the order in which they came to that
};

} // namespace

Result<std::vector<StepId>> run_strictly(const StepGraph& graph) { return StrictRun(graph).run(); }

} // namespace strata::verify
