// SPDX-License-Identifier: BSD-3-Clause
#include "comm/stream_calls.h"

#include "base/blocked_signals.h"
#include "device/word.h"

#include <chrono>
#include <new>
#include <system_error>

namespace strata::comm {

StreamCalls::~StreamCalls() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status StreamCalls::state() {
  const std::lock_guard lock(mutex_);
  return failure_ ? Status(*failure_) : ok();
}

Status StreamCalls::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return entries_.empty(); });
  return failure_ ? Status(*failure_) : ok();
}

Status StreamCalls::start() {
  if (thread_.joinable()) return ok();
  const BlockedSignals blocked;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& why) {
    return Error{ErrorKind::resource, std::string("no thread for calls on streams: ") + why.what()};
  }
  return ok();
}

Status StreamCalls::put(const Entry& entry, device::Stream& stream) {
  const StreamWords::Pair& words = entry.words;
  // From here to the end of the call the driver must not free anything: it would wait for this stream.
  device_.driver().hold_frees();
  Status put = stream.set_word(words.arrived, words.number);
  if (put) put = stream.wait_for_word(words.finished, words.number);
  if (put) return ok();
  // What may wait already goes on. The words are not taken again: the stream may still say that it is there.
  device::store_word(words.finished, words.number);
  device_.driver().release_frees();
  return put;
}

/// What may find no memory, or may wait for all work of a device, before the stream waits. The driver is asked for the
/// buffers' memory now, and not when the call runs: they are to stay until then.
Status StreamCalls::prepare(Entry& entry) {
  Call& call = entry.call;
  const std::size_t bytes = static_cast<std::size_t>(call.elements) * type::bytes_of(call.element);
  if (!device_.in_use()) return ok();
  const auto on_device = entry.buffers.look(device_, call.input, call.output, bytes);
  if (!on_device) return on_device.error();
  call.looked = &entry.buffers;
  if (!*on_device) return ok();
  const void* const any_buffer = entry.buffers.output.on_device() ? call.output : call.input;
  Status ready = ok(); // the slots of a plan are where buffers were when it was made
  for (std::int32_t device = 0; ready && device < device_.driver().devices(); ++device)
    if (device_.was_used(device))
      ready = device_.driver().prepare_reduction(device, any_buffer, call.element, call.operation);
  return ready;
}

Status StreamCalls::enqueue(const Call& call, void* stream) {
  if (Status all_is_well = state(); !all_is_well) return all_is_well;
  const auto queue = device_.driver().adopt_stream(stream);
  if (!queue) return queue.error();
  std::list<Entry> entry(1);
  entry.front().call = call;
  if (Status ready = prepare(entry.front()); !ready) return ready;
  if (Status started = start(); !started) return started;
  const auto words = device_.words().take();
  if (!words) return words.error();
  entry.front().words = *words;
  if (Status done = put(entry.front(), **queue); !done) return done;
  {
    const std::lock_guard lock(mutex_);
    entries_.splice(entries_.end(), entry);
  }
  changed_.notify_all();
  return ok();
}

/// Until the stream is there, or can never be.
Status StreamCalls::await(const Entry& entry) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds between_questions{1};
  engine::Waiter waiter({}, engine::Crowding::crowded);
  Clock::time_point question = Clock::now() + between_questions;
  for (std::uint32_t turn = 1; device::load_word(entry.words.arrived) != entry.words.number; ++turn) {
    waiter.step(false);
    if (turn % 256 != 0 || Clock::now() < question) continue;
    // A stream that failed never gets there, and only the driver knows.
    if (Status sound = device_.driver().check(entry.call.output); !sound) return sound;
    question = Clock::now() + between_questions;
  }
  return ok();
}

Status StreamCalls::run(const Entry& entry) {
  try {
    const Status there = await(entry);
    if (!there) return there;
    if (!has_entered_ && device_.used() >= 0) {
      device_.driver().enter_thread(device_.used());
      has_entered_ = true;
    }
    return run_(entry.call);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::resource, "out of memory"};
  }
}

void StreamCalls::let_go(const Entry& entry) {
  const bool was_there = device::load_word(entry.words.arrived) == entry.words.number;
  device::store_word(entry.words.finished, entry.words.number);
  // A stream that was not there may still say so, and that would be taken for another call's.
  if (was_there) device_.words().give_back(entry.words);
  device_.driver().release_frees();
}

void StreamCalls::work() {
  // Whatever other threads capture into graphs meanwhile is not of this thread's making.
  device_.driver().leave_captures_alone();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !entries_.empty(); });
    if (entries_.empty()) return;
    const Entry& entry = entries_.front();
    // Behind a failure the peers cannot be reached; but the program's streams go on.
    if (!failure_) {
      lock.unlock();
      const Status done = run(entry);
      lock.lock();
      if (!done) failure_ = done.error();
    }
    lock.unlock();
    let_go(entry);
    lock.lock();
    entries_.pop_front();
    changed_.notify_all();
  }
}

} // namespace strata::comm
