// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of the test program: each has a Process of its own, with a segment on the heap (transport loop),
// and they find each other through a table in memory.
#pragma once

#include "comm/context.h"

#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <optional>
#include <thread>

namespace strata::comm {

/// Where the ranks of one context exchange bytes. A rank that does not come makes the others fail, not hang.
class Meeting {
public:
  explicit Meeting(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}
  std::size_t ranks() const { return ranks_; }

  Status all_gather(std::size_t rank, const void* mine, void* all, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = number_;
    if (arrived_ == 0) coming_.assign(bytes * ranks_, std::byte{0});
    if (coming_.size() != bytes * ranks_) broken_ = true;
    if (!broken_ && bytes > 0) std::memcpy(coming_.data() + rank * bytes, mine, bytes);
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      ++number_;
      gathered_.swap(coming_);
      all_are_here_.notify_all();
    } else if (!all_are_here_.wait_for(lock, std::chrono::seconds(120), [&] { return number_ != number; })) {
      broken_ = true;
    }
    if (broken_) return Error{ErrorKind::peer, "the ranks do not do the same exchanges"};
    if (bytes > 0) std::memcpy(all, gathered_.data(), gathered_.size());
    return ok();
  }

  void wait_for_all(engine::IdleHook meanwhile) {
    const std::uint64_t turn = turn_.load();
    if (waiting_.fetch_add(1) + 1 == ranks_) {
      waiting_ = 0;
      ++turn_;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (turn_.load() == turn && std::chrono::steady_clock::now() < end) {
      if (meanwhile.function != nullptr) meanwhile.function(meanwhile.state);
      ::sched_yield();
    }
  }

private:
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<std::uint64_t> turn_ = 0;
  std::size_t ranks_;
  std::mutex mutex_;
  std::condition_variable all_are_here_;
  std::uint64_t number_ = 0;
  std::size_t arrived_ = 0;
  bool broken_ = false;
  std::vector<std::byte> coming_, gathered_;
};

class ThreadBootstrap final : public Bootstrap {
public:
  ThreadBootstrap(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  std::int32_t rank() const override { return rank_; }
  std::int32_t ranks() const override { return static_cast<std::int32_t>(meeting_->ranks()); }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    return meeting_->all_gather(static_cast<std::size_t>(rank_), mine, all, bytes);
  }
  void wait_for_all(engine::IdleHook meanwhile) override { meeting_->wait_for_all(meanwhile); }
  /// A rank may think that it has a node of its own, but all share the cores of this process.
  engine::IdleHook idle_hook() const override {
    return {[](void*) { ::sched_yield(); }, nullptr};
  }

private:
  std::shared_ptr<Meeting> meeting_;
  std::int32_t rank_;
};

/// A job of so many ranks.
class ThreadJob {
public:
  using Makers = std::vector<TransportMaker>;

  explicit ThreadJob(int ranks, const Options& options = options_for_tests(), const Makers& makers = {})
      : ThreadJob(std::vector<Options>(static_cast<std::size_t>(ranks), options), makers) {}

  /// What the ranks are told to have; of one core, several are a crowd, whatever machine this is.
  enum class Cores { one, all };

  /// Options by rank.
  explicit ThreadJob(const std::vector<Options>& options, const Makers& makers = {}, Cores cores = Cores::one,
                     const kernel::Kernels* kernels = nullptr) {
    std::optional<OneCore> here;
    if (cores == Cores::one) here.emplace();
    for (const Options& one : options)
      processes_.push_back(std::make_unique<Process>(one, transport::shm::Backing::heap, makers, kernels));
  }

  static Options options_for_tests() {
    Options options;
    options.transports = "loop";
    options.segment = std::uint64_t{24} << 20;
    options.mode = Mode::always;
    options.trial = 100; // trials end within the calls of a test
    return options;
  }

  int ranks() const { return static_cast<int>(processes_.size()); }
  Process& process(int rank) { return *processes_[static_cast<std::size_t>(rank)]; }

  /// Every rank in a thread of its own, with what it needs for contexts of all of them: body(rank, meeting).
  template <typename Body>
  void run(Body body) {
    const auto meeting = std::make_shared<Meeting>(ranks());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks(); ++rank)
      threads.emplace_back([&, rank] { body(rank, meeting); });
    for (std::thread& thread : threads)
      thread.join();
  }

  /// Every rank with a context of all of them: body(context). A context that could not be made is a message in
  /// `failures`, by rank.
  template <typename Body>
  void run_in_context(Body body) {
    failures.assign(processes_.size(), {});
    run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
      auto context = Context::create(process(rank), std::make_unique<ThreadBootstrap>(meeting, rank));
      if (context)
        body(**context);
      else
        failures[static_cast<std::size_t>(rank)] = context.error().message;
    });
  }
  std::vector<std::string> failures;

private:
  class OneCore {
  public:
    OneCore() {
      ::sched_getaffinity(0, sizeof before_, &before_);
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(::sched_getcpu(), &one);
      ::sched_setaffinity(0, sizeof one, &one);
    }
    ~OneCore() { ::sched_setaffinity(0, sizeof before_, &before_); }
    OneCore(const OneCore&) = delete;
    OneCore& operator=(const OneCore&) = delete;

  private:
    cpu_set_t before_{};
  };

  std::vector<std::unique_ptr<Process>> processes_;
};

} // namespace strata::comm
