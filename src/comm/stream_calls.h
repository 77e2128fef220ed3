// SPDX-License-Identifier: BSD-3-Clause
// Calls that the program puts into its streams: each runs when its stream gets there, and what the program puts behind
// it waits for it. A thread of strata's own runs them, one after the other, in the order in which they were put.
#pragma once

#include "comm/context.h"
#include "comm/device.h"

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

namespace strata::comm {

class StreamCalls {
public:
  /// Runs a call to its end, on the thread; the error says why it cannot be done, and that no later one can.
  using Run = std::function<Status(const Call&)>;

  /// No thread yet.
  StreamCalls(Device& device, Run run) : device_(device), run_(std::move(run)) {}
  /// Waits until all calls have run.
  ~StreamCalls();
  StreamCalls(const StreamCalls&) = delete;
  StreamCalls& operator=(const StreamCalls&) = delete;

  /// Puts the call into a stream of the program; waits for nothing. Its buffers are to stay until the stream has passed
  /// it. Errors: Driver::adopt_stream()'s and Stream's, or that an earlier call failed; then nothing was put. One
  /// thread at a time.
  Status enqueue(const Call& call, void* stream);
  /// Waits until every call has run, so that the caller may use the context itself. The error of the first that failed.
  Status finish();
  /// The error of the first call that failed, by now: known before its stream goes on. Any thread.
  Status state();

private:
  struct Entry {
    Call call;
    CallBuffers buffers;
    StreamWords::Pair words;
  };

  Status prepare(Entry& entry);
  Status start();
  Status put(const Entry& entry, device::Stream& stream);
  void work();
  Status await(const Entry& entry);
  Status run(const Entry& entry);
  void let_go(const Entry& entry);

  Device& device_;
  const Run run_;
  std::mutex mutex_; ///< of what follows, but for the thread; never held while a driver is asked
  std::condition_variable changed_;
  std::list<Entry> entries_; ///< the first of them runs, or is waited for
  std::optional<Error> failure_;
  bool ends_ = false;
  bool has_entered_ = false; ///< the thread works with the device
  std::thread thread_;
};

} // namespace strata::comm
