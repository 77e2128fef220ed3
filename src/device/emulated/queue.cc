// SPDX-License-Identifier: BSD-3-Clause
#include "device/emulated/queue.h"

#include <algorithm>

namespace strata::device {
namespace {

constexpr std::uint32_t looks_in_vain = 3;
constexpr std::chrono::milliseconds soon{2}, between_looks{1};

} // namespace

LateWorker::~LateWorker() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  // Queues that stand at a wait for each other would keep each other.
  for (const auto& queue : queues_)
    queue->items_.clear();
}

std::shared_ptr<LateQueue> LateWorker::make_queue() {
  auto queue = std::make_shared<LateQueue>();
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  queues_.push_back(queue);
  return queue;
}

void LateWorker::add(LateQueue& queue, Work work) {
  const std::lock_guard lock(mutex_);
  queue.items_.push_back({std::move(work), {}, nullptr});
  ++queue.added_;
}

void LateWorker::add_wait(LateQueue& queue, const Place& place) {
  const std::lock_guard lock(mutex_);
  queue.items_.push_back({nullptr, place, nullptr});
  ++queue.added_;
}

void LateWorker::add_condition(LateQueue& queue, std::function<bool()> holds) {
  const std::lock_guard lock(mutex_);
  queue.items_.push_back({nullptr, {}, std::move(holds)});
  ++queue.added_;
}

void LateWorker::run_soon(LateQueue& queue) {
  const std::lock_guard lock(mutex_);
  queue.due_ = queue.added_;
  queue.due_at_ = std::chrono::steady_clock::now() + soon;
  changed_.notify_all();
}

Place LateWorker::end_of(const std::shared_ptr<LateQueue>& queue) {
  const std::lock_guard lock(mutex_);
  return {queue, queue->added_};
}

/// Under the lock.
void LateWorker::demand(LateQueue& queue, std::uint64_t position) {
  if (position <= queue.demanded_) return;
  queue.demanded_ = position;
  changed_.notify_all();
}

void LateWorker::skip(const Place& place) {
  if (!place.queue) return;
  const std::lock_guard lock(mutex_);
  LateQueue& queue = *place.queue;
  if (queue.demanded_ > queue.done_) return; // it may run at this moment
  for (; queue.done_ < place.position; ++queue.done_)
    queue.items_.pop_front();
  changed_.notify_all();
}

Result<bool> LateWorker::reached(const Place& place, std::uint32_t& looks) {
  if (!place.queue) return true;
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  if (++looks <= looks_in_vain) return false;
  demand(*place.queue, place.position);
  return place.queue->done_ >= place.position;
}

Status LateWorker::state() {
  const std::lock_guard lock(mutex_);
  return failure_ ? Status(*failure_) : ok();
}

void LateWorker::fail(Error why) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(why);
  changed_.notify_all();
}

bool LateWorker::waits_for_the_host() {
  const std::lock_guard lock(mutex_);
  return std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) {
    return !queue->items_.empty() && queue->items_.front().holds && !queue->items_.front().holds();
  });
}

Status LateWorker::finish(LateQueue& queue) {
  std::unique_lock lock(mutex_);
  const std::uint64_t end = queue.added_;
  demand(queue, end);
  changed_.wait(lock, [&] { return queue.done_ >= end || failure_; });
  if (failure_) return *failure_;
  return ok();
}

Status LateWorker::finish_all() {
  std::vector<std::shared_ptr<LateQueue>> queues;
  {
    const std::lock_guard lock(mutex_);
    queues = queues_;
  }
  for (const auto& queue : queues)
    if (const Status finished = finish(*queue); !finished) return finished;
  return ok();
}

void LateWorker::let_go(LateQueue& queue) {
  const std::lock_guard lock(mutex_);
  queue.abandoned_ = true;
  demand(queue, queue.added_);
  std::erase_if(queues_, [](const auto& known) { return known->abandoned_ && known->done_ == known->added_; });
}

/// Under the lock.
void LateWorker::demand_what_is_due() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& queue : queues_) {
    if (queue->due_ <= queue->demanded_) continue;
    if (now >= queue->due_at_)
      queue->demanded_ = queue->due_;
    else
      looks_again_ = true;
  }
}

/// Under the lock: the youngest queue whose next item may run now.
LateQueue* LateWorker::find_work() {
  looks_again_ = false;
  demand_what_is_due();
  for (bool demanded_more = true; demanded_more;) {
    demanded_more = false;
    if (LateQueue* const found = find_next(demanded_more)) return found;
  }
  return nullptr;
}

LateQueue* LateWorker::find_next(bool& demanded_more) {
  for (auto next = queues_.rbegin(); next != queues_.rend(); ++next) {
    LateQueue& queue = **next;
    if (queue.done_ >= queue.demanded_) continue;
    const Item& item = queue.items_.front();
    if (item.holds) {
      if (item.holds()) return &queue;
      looks_again_ = true;
      continue;
    }
    const Place& wait = item.wait;
    if (!wait.queue || wait.queue->done_ >= wait.position) return &queue;
    if (wait.queue->demanded_ >= wait.position) continue;
    wait.queue->demanded_ = wait.position;
    demanded_more = true;
  }
  return nullptr;
}

void LateWorker::run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    LateQueue* const found = failure_ ? nullptr : find_work();
    if (found == nullptr) {
      if (looks_again_ && !failure_)
        changed_.wait_for(lock, between_looks);
      else
        changed_.wait(lock);
      continue;
    }
    const auto kept = std::find_if(queues_.begin(), queues_.end(), [&](const auto& q) { return q.get() == found; });
    const std::shared_ptr<LateQueue> queue = *kept; // its stream may go while the work runs
    const Item item = std::move(queue->items_.front());
    queue->items_.pop_front();
    lock.unlock();
    const Status done = item.work ? item.work() : ok();
    lock.lock();
    if (!done && !failure_) failure_ = done.error();
    ++queue->done_;
    if (queue->abandoned_ && queue->done_ == queue->added_) std::erase(queues_, queue);
    changed_.notify_all();
  }
}

} // namespace strata::device
