// SPDX-License-Identifier: BSD-3-Clause
// Keeps an eye on waits: says after STRATA_HANG_SECONDS for whom a call waits, publishes it for strata-info and the
// signal of STRATA_DUMP_SIGNAL, and notices that a peer is gone. A wait that ends soon costs nothing.
#pragma once

#include "base/activity.h"
#include "engine/wait.h"

#include <cstdint>
#include <string>
#include <vector>

namespace strata::comm {

/// What a call waits for at this moment.
struct Wait {
  std::uint64_t call = 0; ///< which of the calls on this context, from 1
  std::uint64_t bytes = 0;
  std::string communicator;          ///< its name; empty: it has none
  std::string way;                   ///< "board", or the schedule's name
  std::string step;                  ///< empty, or what step of a schedule
  std::vector<std::int32_t> awaited; ///< ranks of the context, ascending
  std::vector<std::string> hosts;    ///< theirs
};

/// Who waits and can tell for what.
class Waiting {
public:
  virtual ~Waiting() = default;
  virtual Wait wait() const = 0;
  /// Why the call can never end (a peer is gone), or empty. Asked about once a second.
  virtual std::string find_trouble() const = 0;
};

class Watch {
public:
  /// `before` is called first at each turn: the MPI library's progress. `hang_seconds` 0: never says anything.
  Watch(engine::IdleHook before, Activity& activity, std::int32_t rank, std::int32_t ranks, std::uint64_t hang_seconds)
      : before_(before), activity_(activity), rank_(rank), ranks_(ranks), hang_seconds_(hang_seconds) {}

  /// For the Waiters of this wait; `who` stays until end().
  engine::IdleHook begin(const Waiting& who);
  /// Something came: the wait begins anew.
  void moved() {
    if (began_ != 0) [[unlikely]]
      restart();
  }
  void end() {
    if (began_ != 0) [[unlikely]]
      restart();
    who_ = nullptr;
  }

  /// From now on no wait of this context will end.
  void despair(std::string trouble) { trouble_ = std::move(trouble); }
  /// Why no wait of this context will end any more; empty: all is well.
  const std::string& trouble() const { return trouble_; }
  bool hopeless() const { return !trouble_.empty(); }

private:
  static void turn(void* self);
  void look();
  void look_closer(std::int64_t clock);
  void restart();
  void publish(const Wait& wait) const;
  void report(const Wait& wait, std::int64_t waited) const;

  engine::IdleHook before_;
  Activity& activity_;
  std::int32_t rank_, ranks_;
  std::uint64_t hang_seconds_;
  const Waiting* who_ = nullptr;
  std::uint32_t turns_ = 0;
  std::int64_t began_ = 0; ///< nanoseconds; 0: not looked at yet
  std::int64_t next_publish_ = 0, next_report_ = 0, next_check_ = 0;
  bool published_ = false;
  std::string trouble_;
};

} // namespace strata::comm
