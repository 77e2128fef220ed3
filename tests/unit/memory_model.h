// SPDX-License-Identifier: BSD-3-Clause
// Explores everything that small programs of a few threads can do under the release/acquire memory model: every
// interleaving, and every value that an atomic load may return, stale ones included. (Kang et al., "A promising
// semantics for relaxed-memory concurrency", POPL 2017, section 3, gives this way of telling it; every location has one
// writer here, so a location's modification order is its writer's program order.) Plain accesses that race are faults:
// so are threads
// that wait for ever, or for a value (of those that only grow) that has been replaced.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace strata::memory_model {

struct Operation {
  enum class Kind {
    store,       ///< atomic
    plain_write, ///< of a payload
    await_equal, ///< atomic loads until one returns `value`
    await_least, ///< … or more
    plain_read   ///< must return `value`
  } kind;
  int location;
  int value;
  bool ordered = true; ///< release for a store, acquire for an await
};
using Thread = std::vector<Operation>;
using Kind = Operation::Kind;

class Exploration {
public:
  Exploration(std::vector<Thread> threads, int locations) : threads_(std::move(threads)) {
    State first;
    first.threads.resize(threads_.size());
    for (Progress& thread : first.threads) {
      thread.clock.assign(threads_.size(), 0);
      thread.seen.assign(static_cast<std::size_t>(locations), 0);
    }
    first.locations.resize(static_cast<std::size_t>(locations));
    for (Location& location : first.locations)
      location.read_at.assign(threads_.size(), 0);
    explore(first);
  }

  /// Empty when nothing can go wrong.
  const std::string& fault() const { return fault_; }
  std::size_t states() const { return visited_.size(); }

private:
  using Clock = std::vector<int>;
  struct Write {
    int value;
    int time;    ///< of the writer
    Clock clock; ///< what the writer knew, where it was a release; else empty
    auto operator<=>(const Write&) const = default;
  };
  struct Location {
    int writer = -1;
    std::vector<Write> history;
    Clock read_at; ///< by thread: when it last read this location plainly
    auto operator<=>(const Location&) const = default;
  };
  struct Progress {
    std::size_t next = 0;
    Clock clock;
    std::vector<std::size_t> seen; ///< by location: nothing older than this can be loaded any more
    auto operator<=>(const Progress&) const = default;
  };
  struct State {
    std::vector<Progress> threads;
    std::vector<Location> locations;
    auto operator<=>(const State&) const = default;
  };

  void fail(std::size_t thread, const Operation& operation, const char* why) {
    if (fault_.empty())
      fault_ = "thread " + std::to_string(thread) + ", value " + std::to_string(operation.value) + " of location " +
               std::to_string(operation.location) + ": " + why;
  }

  void explore(const State& state) {
    if (!fault_.empty() || !visited_.insert(state).second) return;
    bool ended = true, moved = false;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      if (state.threads[t].next == threads_[t].size()) continue;
      ended = false;
      moved |= step(state, t);
    }
    if (!ended && !moved && fault_.empty()) fault_ = "threads wait for ever";
  }

  /// Follows all that one thread may do next; false if it can only wait.
  bool step(const State& state, std::size_t t) {
    const Operation& operation = threads_[t][state.threads[t].next];
    switch (operation.kind) {
    case Kind::store:
    case Kind::plain_write:
      write(state, t, operation);
      return true;
    case Kind::plain_read:
      read(state, t, operation);
      return true;
    default:
      return await(state, t, operation);
    }
  }

  void write(State state, std::size_t t, const Operation& operation) {
    Progress& thread = state.threads[t];
    Location& location = state.locations[static_cast<std::size_t>(operation.location)];
    if (operation.kind == Kind::plain_write)
      for (std::size_t other = 0; other < threads_.size(); ++other)
        if (other != t && location.read_at[other] > thread.clock[other])
          return fail(t, operation, "is written while another thread may still read what was there");
    ++thread.clock[t];
    ++thread.next;
    location.writer = static_cast<int>(t);
    const bool release = operation.kind == Kind::store && operation.ordered;
    location.history.push_back({operation.value, thread.clock[t], release ? thread.clock : Clock{}});
    explore(state);
  }

  /// The oldest write that a thread may still load, by what it knows and by what it has loaded.
  std::size_t oldest(const State& state, std::size_t t, int where) const {
    const Location& location = state.locations[static_cast<std::size_t>(where)];
    std::size_t first = state.threads[t].seen[static_cast<std::size_t>(where)];
    for (std::size_t i = first; i < location.history.size(); ++i)
      if (location.history[i].time <= state.threads[t].clock[static_cast<std::size_t>(location.writer)]) first = i;
    return first;
  }

  void read(State state, std::size_t t, const Operation& operation) {
    Progress& thread = state.threads[t];
    Location& location = state.locations[static_cast<std::size_t>(operation.location)];
    const std::size_t first = oldest(state, t, operation.location);
    if (first + 1 < location.history.size()) return fail(t, operation, "is read while it may be overwritten");
    if (location.history.empty() || location.history[first].value != operation.value)
      return fail(t, operation, "is not what is read");
    if (location.history[first].time > thread.clock[static_cast<std::size_t>(location.writer)])
      return fail(t, operation, "is read before it is known to be written");
    ++thread.clock[t];
    ++thread.next;
    location.read_at[t] = thread.clock[t];
    explore(state);
  }

  bool await(const State& state, std::size_t t, const Operation& operation) {
    const Location& location = state.locations[static_cast<std::size_t>(operation.location)];
    bool moved = false;
    for (std::size_t i = oldest(state, t, operation.location); i < location.history.size(); ++i) {
      const Write& loaded = location.history[i];
      const bool enough =
          operation.kind == Kind::await_least ? loaded.value >= operation.value : loaded.value == operation.value;
      if (!enough) {
        if (loaded.value > operation.value) fail(t, operation, "is waited for when a later value is there already");
        continue;
      }
      moved = true;
      State next = state;
      Progress& thread = next.threads[t];
      ++thread.next;
      thread.seen[static_cast<std::size_t>(operation.location)] = i;
      if (operation.ordered)
        for (std::size_t other = 0; other < loaded.clock.size(); ++other)
          thread.clock[other] = std::max(thread.clock[other], loaded.clock[other]);
      explore(next);
    }
    return moved;
  }

  std::vector<Thread> threads_;
  std::set<State> visited_;
  std::string fault_;
};

} // namespace strata::memory_model
