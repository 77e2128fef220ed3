// SPDX-License-Identifier: BSD-3-Clause
// All ranks of a job played by one thread: their plans advance one at a time, in an order drawn from a seed, so that
// whatever a schedule or the engine gets wrong can be repeated.
#pragma once

#include "delaying_transport.h"
#include "engine/plan.h"
#include "hierarchies.h"
#include "transport/shm/shm_transport.h"
#include "vectors.h"

#include <algorithm>
#include <deque>

namespace strata::engine {

/// How ranks reach each other.
enum class Carriage {
  memory,   ///< transport loop
  messages, ///< the delaying transport
  both      ///< memory inside the groups of level 0, messages between them
};
inline constexpr Carriage carriages[] = {Carriage::memory, Carriage::messages, Carriage::both};

struct Setting {
  topo::Hierarchy hierarchy;
  hier::Composition composition;
  Carriage carriage = Carriage::memory;
  std::size_t slice_bytes = 4096;
  std::uint32_t window = 2;
  trace::Recorder* recorder = nullptr; ///< of all ranks; null: nothing is recorded

  std::string describe() const {
    return fmt::format("{}; {} ranks, carriage {}, slice {}, window {}", hierarchies::describe(hierarchy, composition),
                       hierarchy.ranks, static_cast<int>(carriage), slice_bytes, window);
  }
};

/// Counts what plans copy: to shared memory, and from messages that they do not reduce.
struct Copies {
  static inline std::uint64_t number = 0, bytes = 0;
  static void copy(void* to, const void* from, std::size_t count, kernel::Store store) {
    ++number;
    bytes += count;
    kernel::scalar().copy(to, from, count, store);
  }
};

/// One all-reduce on every rank.
struct Job {
  type::Element element = type::Element::float32;
  type::Operation operation = type::Operation::sum;
  std::int64_t count = 1;
  vectors::Buffers::Place place = vectors::Buffers::Place::apart;
  unsigned salt = 1;
};

class World {
public:
  World(const Setting& setting, unsigned seed) : setting_(setting), office_(seed), random_(seed) {
    const auto count = static_cast<std::size_t>(setting.hierarchy.ranks);
    for (std::size_t rank = 0; rank < count; ++rank) {
      auto memory = transport::shm::ShmTransport::create(transport::shm::Backing::heap, std::size_t{16} << 20);
      memories_.push_back(std::move(*memory));
      by_memory_.push_back({rank + 1, memories_.back()->address()});
      by_message_.push_back({rank + 1, "here"});
    }
    for (std::size_t rank = 0; rank < count; ++rank)
      link(rank);
    const hier::AllReduce all_reduce(setting.hierarchy, setting.composition);
    for (std::size_t rank = 0; rank < count; ++rank)
      prepare(all_reduce.program(static_cast<int>(rank)));
    connect();
  }

  /// Empty, or why the plans could not be made.
  const std::string& failure() const { return failure_; }
  Plan& plan(std::size_t rank) { return *plans_[rank]; }
  std::size_t ranks() const { return plans_.size(); }

  /// Submits all jobs on all ranks at once and runs them. Empty, or what went wrong.
  std::string run(const std::vector<Job>& jobs) {
    requests_.clear();
    buffers_.clear();
    requests_.resize(plans_.size());
    buffers_.resize(plans_.size());
    for (std::size_t rank = 0; rank < plans_.size(); ++rank)
      for (const Job& job : jobs) {
        buffers_[rank].emplace_back(
            vectors::contribution(job.element, job.operation, static_cast<int>(rank), job.count, job.salt), job.place);
        Request& request = requests_[rank].emplace_back();
        request.input = buffers_[rank].back().input();
        request.output = buffers_[rank].back().output();
        request.elements = job.count;
        request.reducer = {kernel::scalar().find(job.element, job.operation), type::bytes_of(job.element)};
        plans_[rank]->submit(request);
      }
    if (!advance_until_complete()) return "the plans do not get any further";
    for (std::size_t job = 0; job < jobs.size(); ++job)
      if (std::string wrong = judge(jobs[job], job); !wrong.empty()) return wrong;
    return office_.complaints();
  }

  /// Runs one request of each rank; allocates nothing. False if it never ends.
  bool run(std::deque<Request>& one_of_each_rank) {
    for (std::size_t rank = 0; rank < plans_.size(); ++rank)
      plans_[rank]->submit(one_of_each_rank[rank]);
    return advance_all([&](std::size_t rank) { return one_of_each_rank[rank].complete(); });
  }

  transport::Traffic sent(std::size_t rank) const {
    transport::Traffic sum;
    for (std::size_t link = 0; link < links_[rank].size(); ++link) {
      sum.messages += plans_[rank]->traffic(link).messages;
      sum.bytes += plans_[rank]->traffic(link).bytes;
    }
    return sum;
  }

protected:
  void link(std::size_t rank) {
    const auto& group_of = setting_.hierarchy.levels.front().group_of;
    std::vector<bool> here(group_of.size()), there(group_of.size());
    for (std::size_t other = 0; other < group_of.size(); ++other) {
      here[other] = setting_.carriage == Carriage::memory ||
                    (setting_.carriage == Carriage::both && group_of[other] == group_of[rank]);
      there[other] = !here[other];
      routes_.resize(rank + 1);
      routes_[rank].push_back(here[other] ? 0 : 1);
    }
    auto memory = memories_[rank]->link(by_memory_, static_cast<std::int32_t>(rank), here);
    auto messages = delaying::Transport(office_).link(by_message_, static_cast<std::int32_t>(rank), there);
    links_.emplace_back();
    links_.back().push_back(std::move(*memory));
    links_.back().push_back(std::move(*messages));
  }

  void prepare(const sched::Program& program) {
    const auto rank = static_cast<std::size_t>(program.rank);
    transport::Links* const links[] = {links_[rank][0].get(), links_[rank][1].get()};
    PlanShape shape;
    shape.number = 7;
    shape.slice_bytes = setting_.slice_bytes;
    shape.window = setting_.window;
    shape.recorder = setting_.recorder;
    auto plan = Plan::prepare(program, shape, {links, routes_[rank]}, Copies::copy);
    if (!plan)
      failure_ = plan.error().message;
    else
      plans_.push_back(std::move(*plan));
  }

  void connect() {
    if (!failure_.empty()) return;
    std::vector<std::vector<std::uint64_t>> announced(2);
    for (const auto& plan : plans_) {
      const auto numbers = plan->announcements();
      announced[0].push_back(numbers[0]);
      announced[1].push_back(numbers[1]);
    }
    for (const auto& plan : plans_)
      if (Status connected = plan->connect(announced); !connected) failure_ = connected.error().message;
  }

  template <typename Done>
  bool advance_all(Done done) {
    std::size_t idle = 0;
    std::size_t open = plans_.size();
    const std::size_t patience = 4000 * plans_.size();
    for (; idle < patience && open > 0; ++idle) {
      const std::size_t rank = random_() % plans_.size();
      Plan& plan = *plans_[rank];
      if (setting_.recorder == nullptr ? plan.advance() : plan.advance_recorded()) idle = 0;
      open = 0;
      for (std::size_t other = 0; other < plans_.size(); ++other)
        if (!done(other)) ++open;
    }
    for (std::size_t rank = 0; rank < plans_.size() && open == 0; ++rank)
      while (!plans_[rank]->flushed()) {
      }
    return open == 0;
  }

  bool advance_until_complete() {
    return advance_all([&](std::size_t rank) {
      return std::all_of(requests_[rank].begin(), requests_[rank].end(),
                         [](const Request& request) { return request.complete(); });
    });
  }

  std::string judge(const Job& job, std::size_t number) {
    const int ranks = setting_.hierarchy.ranks;
    const auto wanted = vectors::reduction(job.element, job.operation, ranks, job.count, job.salt);
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      vectors::Buffers& buffers = buffers_[rank][number];
      const std::string wrong = vectors::difference(wanted, buffers.output(), type::bytes_of(job.element));
      const char* guards = buffers.guards_hold() ? "" : "wrote past its output";
      if (!wrong.empty() || !buffers.guards_hold())
        return fmt::format("job {}, {} {} of {}, rank {}: {} {}", number, job.count, type::name_of(job.element),
                           type::name_of(job.operation), rank, wrong, guards);
    }
    return {};
  }

  Setting setting_;
  std::vector<std::unique_ptr<transport::shm::ShmTransport>> memories_;
  delaying::Office office_;
  std::mt19937 random_;
  std::string failure_;
  std::vector<transport::PeerAddress> by_memory_, by_message_;
  std::vector<std::vector<std::unique_ptr<transport::Links>>> links_;
  std::vector<std::vector<std::uint8_t>> routes_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::vector<std::deque<Request>> requests_;
  std::vector<std::deque<vectors::Buffers>> buffers_;
};

} // namespace strata::engine
