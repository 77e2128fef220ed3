// SPDX-License-Identifier: BSD-3-Clause
// Queues of work that run late, on a thread of their own: nothing runs before somebody waits for it, so that whoever
// forgets to wait reads what was there before, every time. Of several queues the youngest runs first, which is the
// order that nobody expects.
#pragma once

#include "base/result.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace strata::device {

class LateQueue;

/// A place in a queue: reached when all before it has run.
struct Place {
  std::shared_ptr<LateQueue> queue; ///< null: reached
  std::uint64_t position = 0;
};

/// Owns the thread. Thread-safe, as are its queues.
class LateWorker {
public:
  using Work = std::function<Status()>;

  LateWorker() = default;
  /// Drops what nobody waited for.
  ~LateWorker();
  LateWorker(const LateWorker&) = delete;
  LateWorker& operator=(const LateWorker&) = delete;

  std::shared_ptr<LateQueue> make_queue();
  void add(LateQueue& queue, Work work);
  /// What is added from now on waits for `place`.
  void add_wait(LateQueue& queue, const Place& place);
  /// What is added from now on waits until `holds`, which is asked now and again.
  void add_condition(LateQueue& queue, std::function<bool()> holds);
  /// Lets what is there by now run in a while, though nobody waits for it: there is one who looks elsewhere.
  void run_soon(LateQueue& queue);
  Place end_of(const std::shared_ptr<LateQueue>& queue);

  /// Takes all before `place` that is not under way for done.
  void skip(const Place& place);
  /// Looks without waiting. The first looks see nothing, whatever has happened; then the work begins.
  Result<bool> reached(const Place& place, std::uint32_t& looks);
  /// The first failure; then nothing runs any more.
  Status state();
  void fail(Error why);
  /// Whether a queue stands at a condition that does not hold.
  bool waits_for_the_host();
  /// Waits for all of the queue, or of all queues.
  Status finish(LateQueue& queue);
  Status finish_all();
  /// Lets all of the queue run some time, without waiting.
  void let_go(LateQueue& queue);

private:
  struct Item {
    Work work;                   ///< or
    Place wait;                  ///< for this, or
    std::function<bool()> holds; ///< until it does
  };
  friend class LateQueue;

  void demand(LateQueue& queue, std::uint64_t position);
  void demand_what_is_due();
  LateQueue* find_work();
  LateQueue* find_next(bool& demanded_more);
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<LateQueue>> queues_; ///< oldest first
  bool looks_again_ = false;     ///< something runs later although nobody says so: by the clock, or a condition
  std::optional<Error> failure_; ///< the first; all that follows fails alike
  bool ends_ = false;
  std::thread thread_;
};

/// Its members belong to the worker, under its lock.
class LateQueue {
  friend class LateWorker;
  std::deque<LateWorker::Item> items_;
  std::uint64_t added_ = 0, demanded_ = 0, done_ = 0;
  std::uint64_t due_ = 0; ///< to be demanded
  std::chrono::steady_clock::time_point due_at_;
  bool abandoned_ = false; ///< nobody adds to it any more
};

} // namespace strata::device
