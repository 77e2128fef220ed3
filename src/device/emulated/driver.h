// SPDX-License-Identifier: BSD-3-Clause
// The emulated device behind the interface of every driver.
#pragma once

#include "device/emulated/accelerator.h"
#include "device/held_frees.h"

namespace strata::device {

class EmulatedDriver : public Driver {
public:
  explicit EmulatedDriver(std::shared_ptr<Accelerator> accelerator) : accelerator_(std::move(accelerator)) {}
  ~EmulatedDriver() override { held_frees_.flush(); }

  const char* name() const override { return "emulated"; }
  bool initialised() override {
    return accelerator_->initialised.load(std::memory_order_acquire) && !accelerator_->faults.too_old;
  }
  Status initialise() override {
    accelerator_->initialised.store(true, std::memory_order_release);
    return ok();
  }
  std::string why_blind() override;
  Result<Memory> memory_of(const void* pointer) override {
    accelerator_->questions.fetch_add(1, std::memory_order_relaxed);
    return accelerator_->memory.find(pointer);
  }
  std::int32_t devices() override { return accelerator_->faults.devices; }
  Result<Facts> facts(std::int32_t device) override;
  std::int32_t links(std::int32_t) override { return -1; }
  std::vector<std::string> linked_to(std::int32_t device) override;
  Result<void*> allocate(std::int32_t device, std::size_t bytes) override;
  Status free(void* memory) override { return free_of_kind(memory, Kind::device); }
  Result<void*> allocate_managed(std::int32_t device, std::size_t bytes) override;
  Status free_managed(void* memory) override { return free_of_kind(memory, Kind::managed); }
  Result<void*> allocate_pinned(std::size_t bytes) override;
  Status free_pinned(void* memory) override { return free_of_kind(memory, Kind::pinned); }
  /// Network devices get the alias, which they take for the host's memory.
  MemoryKind kind_for_networks() const override { return MemoryKind::host; }
  void* address_for_networks(void* memory) override;
  Result<std::unique_ptr<Stream>> make_stream(std::int32_t device) override;
  /// `stream` is a Stream* of this accelerator.
  Result<std::unique_ptr<Stream>> adopt_stream(void* stream) override;
  Result<std::unique_ptr<Event>> make_event(std::int32_t device) override;
  Status prepare_reduction(std::int32_t, const void*, type::Element, type::Operation) override { return ok(); }
  Status check(const void*) override { return accelerator_->worker.state(); }
  void hold_frees() override { held_frees_.hold(); }
  void release_frees() override { held_frees_.release(); }
  void leave_captures_alone() override {}
  void enter_thread(std::int32_t) override {}
  Status synchronise(std::int32_t device) override;
  Result<std::string> export_memory(void* memory) override;
  Result<void*> open_exported(const std::string& exported, std::int32_t device) override;
  Result<bool> close_exported(void* memory) override;
  Result<bool> reaches(std::int32_t device, std::int32_t peer) override;
  Status enable_peer_access(std::int32_t device, std::int32_t peer) override;

private:
  Status check_device(std::int32_t device) const;
  Status free_of_kind(void* memory, Kind kind);
  void see_who_waits();

  std::shared_ptr<Accelerator> accelerator_;
  HeldFrees held_frees_;
};

} // namespace strata::device
