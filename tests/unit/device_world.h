// SPDX-License-Identifier: BSD-3-Clause
// Plans of which some ranks work on a device and some on the host, over shared memory and over messages that are late
// and out of order.
#pragma once

#include "comm/resident.h"
#include "plan_world.h"
#include "sharing_driver.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace strata::engine {

using namespace hierarchies;
using device::Accelerator;
using device::Kind;
using device::Origin;
using type::Element;
using type::Operation;

/// What the ranks of a world have.
struct Devices {
  bool of_their_own = false;             ///< a device each, and their queues wait for flags of the others'
  std::size_t blind = SIZE_MAX;          ///< a rank that has mapped nobody's slots
  std::size_t least_straight = SIZE_MAX; ///< bytes of a message to another node that goes straight
  bool some_come_by_the_host = true;     ///< of those
  using MakeDriver = std::unique_ptr<device::Driver> (*)(const std::shared_ptr<Accelerator>&);
  template <typename Driver>
  static std::unique_ptr<device::Driver> made(const std::shared_ptr<Accelerator>& accelerator) {
    return std::make_unique<Driver>(accelerator);
  }
  MakeDriver make_driver = made<device::SharingDriver>;
};

/// Ranks that all have a device; the vectors of some are on it.
class DeviceWorld : public World {
public:
  DeviceWorld(const Setting& setting, unsigned seed, const Devices& kind = {}) : World(setting, seed), kind_(kind) {
    std::vector<bool> readers(plans_.size(), true);
    if (kind.blind < readers.size()) readers[kind.blind] = false;
    accelerator_->faults.devices = kind.of_their_own ? static_cast<std::int32_t>(plans_.size()) : 1;
    office_.least_straight = kind.least_straight;
    office_.some_come_by_the_host = kind.some_come_by_the_host;
    const std::optional<MemoryKind> networks = kind.make_driver(accelerator_)->kind_for_networks();
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      devices_.push_back(
          std::make_unique<comm::Device>(kind.make_driver(accelerator_), std::size_t{1} << 26, std::size_t{1} << 28));
      auto slots = comm::PeerSlots::make(*devices_.back(), device_of(rank), plans_[rank]->device_needs(networks),
                                         setting.window, comm::PeerSlots::Flags::wanted);
      EXPECT_TRUE(slots) << slots.error().message;
      slots_.push_back(std::move(*slots));
    }
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      std::vector<std::byte*> mapped(plans_.size());
      for (const std::int32_t peer : plans_[rank]->device_peers(kind.of_their_own))
        if (rank != kind.blind)
          mapped[static_cast<std::size_t>(peer)] =
              *slots_[rank]->map(slots_[static_cast<std::size_t>(peer)]->announcement());
      EXPECT_TRUE(plans_[rank]->connect_device(*slots_[rank], mapped, networks));
    }
    const std::vector<bool> waiters(plans_.size(), kind.of_their_own);
    if (kind.of_their_own) try_flags(waiters);
    for (const auto& plan : plans_)
      plan->let_read(readers, waiters);
  }
  /// As where a plan is made.
  void try_flags(const std::vector<bool>& waiters) {
    for (const auto& plan : plans_)
      EXPECT_TRUE(plan->set_tried_flags(waiters));
    for (const auto& plan : plans_)
      EXPECT_TRUE(plan->await_tried_flags(waiters));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (auto& slots : slots_)
      while (!slots->passed(0) && std::chrono::steady_clock::now() < end) {
      }
    for (auto& slots : slots_) {
      EXPECT_TRUE(slots->passed(0)) << "its flags did not come";
      EXPECT_TRUE(slots->forget_tried_flags());
    }
  }
  ~DeviceWorld() {
    for (auto& slots : slots_)
      slots->leave();
  }

  /// A rank's part in a call.
  struct Part {
    std::byte* memory;
    bool is_device;
    comm::CallBuffers buffers;
    std::unique_ptr<comm::Resident> resident;
    Request request;
  };
  /// Of the ranks, those that are on the device are the bits of `on_device`.
  std::deque<Part> submit(const Job& job, unsigned on_device) {
    std::deque<Part> parts;
    const std::size_t element_bytes = type::bytes_of(job.element);
    const std::size_t bytes = static_cast<std::size_t>(job.count) * element_bytes;
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      Part& part = parts.emplace_back();
      part.is_device = (on_device >> rank & 1) != 0;
      part.memory = *accelerator_->memory.allocate(part.is_device ? Kind::device : Kind::managed, device_of(rank),
                                                   bytes, Origin::program);
      const auto mine = contribution_(job, rank);
      std::memcpy(*accelerator_->memory.reach(part.memory, bytes), mine.data(), bytes);
      Request& request = part.request;
      request.input = request.output = part.memory;
      request.elements = job.count;
      request.reducer = {kernel::scalar().find(job.element, job.operation), element_bytes};
      request.element = job.element;
      request.operation = job.operation;
      if (part.is_device) {
        EXPECT_TRUE(*part.buffers.look(*devices_[rank], part.memory, part.memory, bytes));
        part.resident = std::make_unique<comm::Resident>(*devices_[rank], part.buffers);
        EXPECT_TRUE(part.resident->prepare(*slots_[rank], setting_.window, plans_[rank]->bounce_bytes()));
        request.memory = part.resident.get();
        devices_[rank]->count_call(comm::DevicePath::peer);
        devices_[rank]->count_call(comm::DevicePath::straight); // so that its bytes are told, likewise
        devices_[rank]->count_call(comm::DevicePath::bounced);
      }
      plans_[rank]->submit(request);
    }
    return parts;
  }

  /// What each rank has in the end.
  Result<std::vector<vectors::Bytes>> results_of(const Job& job, unsigned on_device) {
    std::deque<Part> parts = submit(job, on_device);
    const std::size_t bytes = static_cast<std::size_t>(job.count) * type::bytes_of(job.element);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto complete = [](const Part& part) { return part.request.complete(); };
    while (!std::all_of(parts.begin(), parts.end(), complete)) {
      between_steps_();
      (void)plans_[random_() % plans_.size()]->advance();
      if (std::chrono::steady_clock::now() <= end) continue;
      std::string why = "the plans do not get any further";
      for (auto& slots : slots_) {
        why += "; " + slots->failure();
        slots->give_up();
      }
      return Error{ErrorKind::peer, why};
    }
    std::vector<vectors::Bytes> results;
    for (const Part& part : parts) {
      const std::byte* const seen = *accelerator_->memory.reach(part.memory, bytes);
      results.emplace_back(seen, seen + bytes);
      EXPECT_TRUE(accelerator_->memory.free(part.memory, part.is_device ? Kind::device : Kind::managed));
    }
    return results;
  }

  /// What is wrong with a call; empty: nothing.
  std::string run(const Job& job, unsigned on_device) {
    const auto results = results_of(job, on_device);
    if (!results) return results.error().message;
    const auto wanted =
        vectors::reduction(job.element, job.operation, static_cast<int>(plans_.size()), job.count, job.salt);
    std::string wrong = office_.complaints();
    for (std::size_t rank = 0; rank < plans_.size(); ++rank)
      if (const std::string fault = vectors::difference(wanted, (*results)[rank].data(), type::bytes_of(job.element));
          !fault.empty())
        wrong += fmt::format("rank {}, {} elements, devices {:b}: {}\n", rank, job.count, on_device, fault);
    return wrong;
  }

  /// All on their devices; when nothing moves any more, rank 1 gives up. What the last rank takes its call for.
  std::string seen_by_the_last_when_rank_1_gives_up(const Job& job) {
    std::deque<Part> parts = submit(job, ~0U);
    const auto advance_for = [&](std::chrono::milliseconds time) {
      const auto end = std::chrono::steady_clock::now() + time;
      while (std::chrono::steady_clock::now() < end)
        for (std::size_t rank = 0; rank < plans_.size(); ++rank)
          if (rank != given_up_) (void)plans_[rank]->advance();
    };
    advance_for(std::chrono::milliseconds(100));
    given_up_ = 1;
    plans_[1]->abandon();
    slots_[1]->give_up();
    advance_for(std::chrono::milliseconds(200));
    std::string seen = parts.back().request.complete() ? "done" : "not done";
    if (const char* why = plans_.back()->failure()) seen += std::string(": ") + why;
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      if (rank != 1) plans_[rank]->abandon();
      slots_[rank]->give_up();
    }
    for (Part& part : parts) {
      part.resident->finish();
      EXPECT_TRUE(accelerator_->memory.free(part.memory, Kind::device));
    }
    return seen;
  }

  /// Of all ranks, by one path.
  std::uint64_t bytes_by(const char* path) const {
    std::uint64_t sum = 0;
    for (const auto& device : devices_)
      if (const auto rows = device->tallies(); rows.contains(path)) sum += rows.at(path).bytes;
    return sum;
  }
  /// Whether there is one whose queue others' queues wait for.
  bool sets_flags() const {
    return std::any_of(plans_.begin(), plans_.end(), [](const auto& plan) { return plan->sets_flags(); });
  }
  std::uint64_t put_bytes() const { return bytes_by("peer"); }
  std::function<void()> between_steps_ = [] {};
  /// What a rank contributes; run() expects this.
  std::function<vectors::Bytes(const Job&, std::size_t rank)> contribution_ = [](const Job& job, std::size_t rank) {
    return vectors::contribution(job.element, job.operation, static_cast<int>(rank), job.count, job.salt);
  };

private:
  std::int32_t device_of(std::size_t rank) const { return kind_.of_their_own ? static_cast<std::int32_t>(rank) : 0; }

  Devices kind_;
  std::size_t given_up_ = SIZE_MAX;
  std::shared_ptr<Accelerator> accelerator_ = std::make_shared<Accelerator>();
  std::vector<std::unique_ptr<comm::Device>> devices_;
  std::vector<std::unique_ptr<comm::PeerSlots>> slots_;
};

inline void expect_right(const Setting& setting, unsigned seed, const Devices& kind = {}) {
  SCOPED_TRACE(fmt::format("seed {}; {}", seed, setting.describe()));
  DeviceWorld world(setting, seed, kind);
  ASSERT_EQ(world.failure(), "");
  unsigned salt = 0;
  std::mt19937 random(seed);
  for (const std::int64_t count : {1, 5, 1000, 4097})
    for (const unsigned on_device : {~0U, static_cast<unsigned>(random())})
      ASSERT_EQ(world.run({Element::float32, Operation::sum, count, vectors::Buffers::Place::same, ++salt}, on_device),
                "");
}

} // namespace strata::engine
