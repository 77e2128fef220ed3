// SPDX-License-Identifier: BSD-3-Clause
#include "device/emulated/driver.h"

#include "device/word.h"
#include "kernel/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::device {
namespace {

Error denied(const char* what) {
  return {ErrorKind::unsupported, fmt::format("{} is denied on the emulated device", what)};
}

class EmulatedEvent final : public Event {
public:
  explicit EmulatedEvent(std::shared_ptr<Accelerator> accelerator) : accelerator_(std::move(accelerator)) {}
  Result<bool> reached() override {
    if (!accelerator_->faults.hasty) return accelerator_->worker.reached(place_, looks_);
    accelerator_->worker.skip(place_);
    return true;
  }
  void put(Place place) {
    place_ = std::move(place);
    looks_ = 0;
  }
  const Place& place() const { return place_; }

private:
  std::shared_ptr<Accelerator> accelerator_;
  Place place_;
  std::uint32_t looks_ = 0;
};

class EmulatedStream final : public Stream {
public:
  EmulatedStream(std::shared_ptr<Accelerator> accelerator, std::int32_t device)
      : accelerator_(std::move(accelerator)), device_(device), queue_(accelerator_->worker.make_queue()) {}
  /// The program's: `original` keeps it.
  explicit EmulatedStream(const EmulatedStream& original)
      : accelerator_(original.accelerator_), device_(original.device_), queue_(original.queue_), adopted_(true) {}
  ~EmulatedStream() override {
    if (!adopted_) accelerator_->worker.let_go(*queue_);
  }

  Status copy(void* to, const void* from, std::size_t bytes) override {
    // As a driver does, which knows the allocations before it enqueues.
    if (const auto reached = accelerator_->memory.reach(to, bytes); !reached) return reached.error();
    if (const auto reached = accelerator_->memory.reach(from, bytes); !reached) return reached.error();
    for (const void* place : {static_cast<const void*>(to), from})
      if (const Status reached = accelerator_->check_pools(device_, place); !reached) return reached;
    enqueue([accelerator = accelerator_.get(), to, from, bytes] { return accelerator->copy(to, from, bytes); });
    return ok();
  }
  Status reduce(type::Element element, type::Operation operation, void* to, std::span<const void* const> from,
                std::size_t count) override;
  Status record(Event& event) override {
    static_cast<EmulatedEvent&>(event).put(accelerator_->worker.end_of(queue_));
    return ok();
  }
  Status wait_for(Event& event) override {
    accelerator_->worker.add_wait(*queue_, static_cast<EmulatedEvent&>(event).place());
    return ok();
  }
  Status set_word(std::uint32_t* word, std::uint32_t value) override {
    if (const Status pinned = check_word(word); !pinned) return pinned;
    if (accelerator_->faults.blind_words && is_of_others(word)) return ok();
    if (accelerator_->faults.refuse_words && is_of_others(word))
      return Error{ErrorKind::unsupported, "streams of the emulated device cannot write to another one"};
    enqueue([accelerator = accelerator_.get(), word, value] {
      const auto reached = accelerator->memory.reach(word, sizeof *word);
      if (reached) store_word(reinterpret_cast<std::uint32_t*>(*reached), value);
      return reached ? ok() : reached.error();
    });
    accelerator_->worker.run_soon(*queue_); // somebody looks at the word, of which the queue knows nothing
    return ok();
  }
  Status wait_for_word(const std::uint32_t* word, std::uint32_t value) override {
    if (const Status pinned = check_word(word); !pinned) return pinned;
    accelerator_->worker.add_condition(*queue_, [accelerator = accelerator_.get(), word, value] {
      const auto reached = accelerator->memory.reach(word, sizeof *word);
      return !reached || has_come_to(reinterpret_cast<const std::uint32_t*>(*reached), value);
    });
    return ok();
  }
  Status synchronise() override {
    if (!accelerator_->faults.hasty) return accelerator_->worker.finish(*queue_);
    accelerator_->worker.skip(accelerator_->worker.end_of(queue_));
    return ok();
  }

private:
  Status check_word(const std::uint32_t* word) const {
    if (accelerator_->faults.no_words)
      return Error{ErrorKind::unsupported, "streams of the emulated device cannot wait for memory"};
    if (accelerator_->memory.find(word).kind == Kind::pinned) return ok();
    return accelerator_->check_reach(device_, word, sizeof *word);
  }
  bool is_of_others(const void* word) const {
    const Memory found = accelerator_->memory.find(word);
    return found.kind == Kind::device && (found.device != device_ || accelerator_->memory.is_opened(word));
  }
  void enqueue(LateWorker::Work work) { accelerator_->worker.add(*queue_, std::move(work)); }

  std::shared_ptr<Accelerator> accelerator_;
  std::int32_t device_;
  std::shared_ptr<LateQueue> queue_;
  bool adopted_ = false;
};

Status EmulatedStream::reduce(type::Element element, type::Operation operation, void* to,
                              std::span<const void* const> from, std::size_t count) {
  const kernel::ReduceFunction function = kernel::scalar().find(element, operation);
  const std::size_t element_bytes = type::bytes_of(element), bytes = count * element_bytes;
  if (function == nullptr || from.empty() || from.size() > most_inputs)
    return argument_error(fmt::format("no reduction {} of {} vectors of {}", type::name_of(operation), from.size(),
                                      type::name_of(element)));
  if (accelerator_->faults.no_kernels && from.size() > 1) // one vector is only copied
    return Error{ErrorKind::unsupported, "the emulated device has no kernels"};
  std::array<const void*, most_inputs + 1> all{};
  std::copy(from.begin(), from.end(), all.begin());
  all[from.size()] = to;
  for (std::size_t i = 0; i <= from.size(); ++i) {
    if (reinterpret_cast<std::uintptr_t>(all[i]) % element_bytes != 0)
      return argument_error(fmt::format("{} is not aligned to {} bytes", all[i], element_bytes));
    if (const Status reached = accelerator_->check_reach(device_, all[i], bytes); !reached) return reached;
  }
  enqueue([accelerator = accelerator_.get(), function, all, inputs = from.size(), count, bytes]() -> Status {
    std::array<const void*, most_inputs + 1> reached{};
    for (std::size_t i = 0; i <= inputs; ++i) {
      const auto found = accelerator->memory.reach(all[i], bytes);
      if (!found) return found.error();
      reached[i] = *found;
    }
    function(const_cast<void*>(reached[inputs]), reached.data(), inputs, count, kernel::Store::cached, nullptr);
    return ok();
  });
  return ok();
}

} // namespace

std::string EmulatedDriver::why_blind() {
  const bool blind = accelerator_->faults.too_old && accelerator_->initialised.load(std::memory_order_acquire);
  return blind ? "the emulated device is too old" : "";
}

Status EmulatedDriver::check_device(std::int32_t device) const {
  if (device >= 0 && device < accelerator_->faults.devices) return ok();
  return argument_error(
      fmt::format("there is no emulated device {} (0 to {})", device, accelerator_->faults.devices - 1));
}

Result<Facts> EmulatedDriver::facts(std::int32_t device) {
  if (const Status there = check_device(device); !there) return there.error();
  return Facts{"emulated device", address_of(accelerator_->faults, device), std::size_t{1} << 30, -1};
}

std::vector<std::string> EmulatedDriver::linked_to(std::int32_t device) {
  std::vector<std::string> ends;
  for (const auto& [one, other] : accelerator_->faults.links)
    if (one == device || other == device) ends.push_back(address_of(accelerator_->faults, one == device ? other : one));
  std::sort(ends.begin(), ends.end());
  return ends;
}

Result<void*> EmulatedDriver::allocate(std::int32_t device, std::size_t bytes) {
  if (const Status there = check_device(device); !there) return there.error();
  if (accelerator_->faults.fail_allocation)
    return Error{ErrorKind::resource, fmt::format("cannot allocate {} bytes on emulated device {}", bytes, device)};
  const auto made = accelerator_->memory.allocate(Kind::device, device, bytes, Origin::strata);
  if (!made) return made.error();
  return static_cast<void*>(*made);
}

Result<void*> EmulatedDriver::allocate_managed(std::int32_t device, std::size_t bytes) {
  if (const Status there = check_device(device); !there) return there.error();
  const auto made = accelerator_->memory.allocate(Kind::managed, device, bytes, Origin::strata);
  if (!made) return made.error();
  return static_cast<void*>(*made);
}

Result<void*> EmulatedDriver::allocate_pinned(std::size_t bytes) {
  if (accelerator_->faults.fail_pinned)
    return Error{ErrorKind::resource, fmt::format("cannot pin {} bytes for the emulated device", bytes)};
  const auto made = accelerator_->memory.allocate(Kind::pinned, -1, bytes, Origin::strata);
  if (!made) return made.error();
  return static_cast<void*>(*made);
}

void* EmulatedDriver::address_for_networks(void* memory) {
  const auto reached = accelerator_->memory.reach(memory, 1);
  return reached ? *reached : nullptr;
}

Result<std::unique_ptr<Stream>> EmulatedDriver::make_stream(std::int32_t device) {
  if (const Status there = check_device(device); !there) return there.error();
  if (accelerator_->faults.fail_streams) return Error{ErrorKind::resource, "the emulated device has no streams left"};
  return std::unique_ptr<Stream>(std::make_unique<EmulatedStream>(accelerator_, device));
}

Result<std::unique_ptr<Stream>> EmulatedDriver::adopt_stream(void* stream) {
  if (stream == nullptr) return argument_error("the emulated device has no default stream");
  if (accelerator_->faults.captures) return Error{ErrorKind::unsupported, "the stream is being captured into a graph"};
  const auto& original = static_cast<const EmulatedStream&>(*static_cast<Stream*>(stream));
  return std::unique_ptr<Stream>(std::make_unique<EmulatedStream>(original));
}

Result<std::unique_ptr<Event>> EmulatedDriver::make_event(std::int32_t device) {
  if (const Status there = check_device(device); !there) return there.error();
  return std::unique_ptr<Event>(std::make_unique<EmulatedEvent>(accelerator_));
}

Status EmulatedDriver::synchronise(std::int32_t device) {
  if (const Status there = check_device(device); !there) return there;
  return accelerator_->worker.finish_all();
}

Result<std::string> EmulatedDriver::export_memory(void* memory) {
  if (accelerator_->faults.deny_ipc) return denied("exporting memory");
  return accelerator_->memory.export_memory(memory);
}

Result<void*> EmulatedDriver::open_exported(const std::string& exported, std::int32_t device) {
  if (accelerator_->faults.deny_ipc || accelerator_->faults.deny_open) return denied("opening another process' memory");
  if (const Status there = check_device(device); !there) return there.error();
  return accelerator_->memory.open(exported, device);
}

/// A real driver would wait for that stream, and for ever where it waits for this thread.
void EmulatedDriver::see_who_waits() {
  if (accelerator_->one_process && accelerator_->worker.waits_for_the_host())
    accelerator_->worker.fail({ErrorKind::resource, "memory was freed while a stream waited for the host"});
}

Status EmulatedDriver::free_of_kind(void* memory, Kind kind) {
  return held_frees_.free([this, memory, kind] {
    see_who_waits();
    return accelerator_->memory.free(memory, kind);
  });
}

Result<bool> EmulatedDriver::close_exported(void* memory) {
  return held_frees_.free_unless_held([this, memory] {
    see_who_waits();
    return accelerator_->memory.close(memory);
  });
}

Result<bool> EmulatedDriver::reaches(std::int32_t device, std::int32_t peer) {
  for (const std::int32_t one : {device, peer})
    if (const Status there = check_device(one); !there) return there.error();
  return device == peer || !accelerator_->faults.deny_peer;
}

Status EmulatedDriver::enable_peer_access(std::int32_t device, std::int32_t peer) {
  const auto can = reaches(device, peer);
  if (!can) return can.error();
  if (!*can) return denied("peer access");
  if (device == peer) return ok();
  const std::lock_guard lock(accelerator_->mutex);
  accelerator_->peers.insert({device, peer});
  return ok();
}

} // namespace strata::device
