// SPDX-License-Identifier: BSD-3-Clause
// The emulated device behind the interface of every driver.
#pragma once

#include "device/emulated/accelerator.h"

namespace strata::device {

class EmulatedDriver : public Driver {
public:
  explicit EmulatedDriver(std::shared_ptr<Accelerator> accelerator) : accelerator_(std::move(accelerator)) {}

  const char* name() const override { return "emulated"; }
  bool initialised() override { return accelerator_->initialised.load(std::memory_order_acquire); }
  Status initialise() override {
    accelerator_->initialised.store(true, std::memory_order_release);
    return ok();
  }
  Result<Memory> memory_of(const void* pointer) override { return accelerator_->memory.find(pointer); }
  std::int32_t devices() override { return accelerator_->faults.devices; }
  Result<Facts> facts(std::int32_t device) override;
  Result<void*> allocate(std::int32_t device, std::size_t bytes) override;
  Status free(void* memory) override { return accelerator_->memory.free(memory, Kind::device); }
  Result<void*> allocate_pinned(std::size_t bytes) override;
  Status free_pinned(void* memory) override { return accelerator_->memory.free(memory, Kind::pinned); }
  Result<std::unique_ptr<Stream>> make_stream(std::int32_t device) override;
  Result<std::unique_ptr<Event>> make_event(std::int32_t device) override;
  Status synchronise(std::int32_t device) override;
  Result<std::string> export_memory(void* memory) override;
  Result<void*> open_exported(const std::string& exported, std::int32_t device) override;
  Status close_exported(void* memory) override { return accelerator_->memory.close(memory); }
  Result<bool> reaches(std::int32_t device, std::int32_t peer) override;
  Status enable_peer_access(std::int32_t device, std::int32_t peer) override;

private:
  Status check(std::int32_t device) const;

  std::shared_ptr<Accelerator> accelerator_;
};

} // namespace strata::device
