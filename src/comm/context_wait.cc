// SPDX-License-Identifier: BSD-3-Clause
// What a context knows of its waits: for whom, and whether they can still end.
#include "comm/context.h"

#include <fmt/format.h>

namespace strata::comm {

Wait Context::wait() const {
  Wait wait;
  wait.call = calls_;
  wait.communicator = name_;
  wait.bytes = waiting_bytes_;
  if (waiting_plan_ != nullptr) {
    for (const MadePlan& made : plans_)
      if (made.plan.get() == waiting_plan_) wait.way = made.name;
    wait.awaited = waiting_plan_->awaited(wait.step);
  } else {
    wait.way = "board";
    for (std::int32_t rank = 0; rank < ranks_; ++rank)
      if (rank != rank_ && board_->arrived(static_cast<std::size_t>(rank), waiting_bytes_) == nullptr)
        wait.awaited.push_back(rank);
  }
  for (const std::int32_t rank : wait.awaited)
    wait.hosts.push_back(hosts_[static_cast<std::size_t>(rank)]);
  return wait;
}

// Any rank of this node that has ended is missed sooner or later, also one that this step does not wait for.
std::string Context::find_trouble() const {
  if (neighbours_)
    for (std::int32_t rank = 0; rank < ranks_; ++rank) {
      const auto& view = neighbours_->neighbours()->views[static_cast<std::size_t>(rank)];
      if (view && !view->has_owner())
        return fmt::format("rank {} ({}) has ended in the midst of call {} on a communicator of {} ranks", rank,
                           hosts_[static_cast<std::size_t>(rank)], calls_, ranks_);
    }
  if (waiting_plan_ != nullptr)
    if (const char* why = waiting_plan_->failure())
      return fmt::format("a peer of rank {} cannot be reached any more in call {} on a communicator of {} ranks: {}",
                         rank_, calls_, ranks_, why);
  return {};
}

/// From now on every call on this context ends at once with Outcome::peer_lost.
Outcome Context::give_up() {
  watch_.end();
  probe_.reset(); // it would wait for the one that is gone
  for (Decision& decision : decisions_) {
    try {
      if (is_on_board(decision.way.path) || decision.way.path == Path::plan) decision.others.push_back(decision.way);
    } catch (const std::bad_alloc&) { // only its counts are lost
    }
    decision.way = Way{};
    decision.way.path = Path::lost;
    decision.review.reset(); // it would go on with what a trial rests with; the trial is in use by the caller
  }
  return Outcome::peer_lost;
}

} // namespace strata::comm
