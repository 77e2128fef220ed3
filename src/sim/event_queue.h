// SPDX-License-Identifier: BSD-3-Clause
// What is going to happen, in the order of time: a binary heap.
#pragma once

#include "sim/workload.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace strata::sim {

struct Event {
  enum class Kind : std::uint8_t {
    step_ended, ///< the core has run `step`
    left,       ///< a message of `step` has left its node
    enters,     ///< `message` comes to the link `stage` of its way
    arrives,    ///< `message` can be taken
    queues      ///< `message` waits for its turn to leave, where a node has a gap between messages
  };
  double time = 0;
  std::int32_t rank = 0; ///< that sends or runs
  std::int32_t slice = 0;
  Index step = 0;
  Index message = 0;
  Kind kind = Kind::step_ended;
  std::uint8_t stage = 0;
  double end = 0; ///< enters: when its last byte is behind the links, and the turn, so far

  auto key() const { return std::tuple(time, rank, slice, step, kind, message, stage); }
};

class EventQueue {
public:
  bool empty() const { return heap_.empty(); }
  const Event& next() const { return heap_.front(); }
  void push(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), is_later);
  }
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

private:
  static bool is_later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.key() > b.key();
  }
  std::vector<Event> heap_;
};

} // namespace strata::sim
