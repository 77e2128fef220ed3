// SPDX-License-Identifier: BSD-3-Clause
// The emulated device for ranks that are threads of one process: they map each other's memory too, and whoever frees
// what another rank has mapped is seen.
#pragma once

#include "device/emulated/driver.h"
#include "device/held_frees.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace strata::device {

class SharingDriver : public EmulatedDriver {
public:
  explicit SharingDriver(std::shared_ptr<Accelerator> accelerator)
      : EmulatedDriver(accelerator), accelerator_(std::move(accelerator)) {}

  Result<std::string> export_memory(void* memory) override {
    EXPECT_TRUE(accelerator_->memory.find(memory).exportable) << "memory of the program's is exported";
    if (const auto exported = EmulatedDriver::export_memory(memory); !exported) return exported.error();
    return std::string(reinterpret_cast<const char*>(&memory), sizeof memory);
  }
  Result<void*> open_exported(const std::string& exported, std::int32_t device) override {
    if (accelerator_->faults.deny_open) return EmulatedDriver::open_exported(exported, device);
    void* memory = nullptr;
    std::memcpy(&memory, exported.data(), sizeof memory);
    const std::lock_guard lock(accelerator_->mutex);
    ++openings()[memory];
    return memory;
  }
  Result<bool> close_exported(void* memory) override {
    return closes_.free_unless_held([&]() -> Status {
      const std::lock_guard lock(accelerator_->mutex);
      --openings()[memory];
      return ok();
    });
  }
  void hold_frees() override {
    EmulatedDriver::hold_frees();
    closes_.hold();
  }
  void release_frees() override {
    EmulatedDriver::release_frees();
    closes_.release();
  }
  Status free(void* memory) override {
    {
      const std::lock_guard lock(accelerator_->mutex);
      EXPECT_EQ(openings()[memory], 0) << "memory is freed that another rank has mapped";
    }
    return EmulatedDriver::free(memory);
  }

private:
  /// By address, of all ranks; under the accelerator's mutex.
  static std::map<void*, int>& openings() {
    static std::map<void*, int> all;
    return all;
  }

  std::shared_ptr<Accelerator> accelerator_;
  HeldFrees closes_;
};

/// Does what the stream behind it does.
struct PassingStream : Stream {
  explicit PassingStream(std::unique_ptr<Stream> behind) : real(std::move(behind)) {}
  Status copy(void* to, const void* from, std::size_t bytes) override { return real->copy(to, from, bytes); }
  Status reduce(type::Element element, type::Operation operation, void* to, std::span<const void* const> from,
                std::size_t count) override {
    return real->reduce(element, operation, to, from, count);
  }
  Status record(Event& event) override { return real->record(event); }
  Status wait_for(Event& event) override { return real->wait_for(event); }
  Status set_word(std::uint32_t* word, std::uint32_t value) override { return real->set_word(word, value); }
  Status wait_for_word(const std::uint32_t* word, std::uint32_t value) override {
    return real->wait_for_word(word, value);
  }
  Status synchronise() override { return real->synchronise(); }
  std::unique_ptr<Stream> real;
};

/// A driver whose streams are of this kind.
template <typename OneStream>
struct DriverWithStreams : SharingDriver {
  using SharingDriver::SharingDriver;
  Result<std::unique_ptr<Stream>> make_stream(std::int32_t device) override {
    auto real = SharingDriver::make_stream(device);
    return std::unique_ptr<Stream>(std::make_unique<OneStream>(std::move(*real)));
  }
};

/// As if no rank waited for what it has put into its queue.
struct ReachedEvent : Event {
  explicit ReachedEvent(std::unique_ptr<Event> marked) : real(std::move(marked)) {}
  Result<bool> reached() override { return true; }
  std::unique_ptr<Event> real;
};
struct MarkingStream : PassingStream {
  using PassingStream::PassingStream;
  Status record(Event& event) override { return real->record(*static_cast<ReachedEvent&>(event).real); }
  Status wait_for(Event& event) override { return real->wait_for(*static_cast<ReachedEvent&>(event).real); }
};
struct ImpatientSharingDriver : DriverWithStreams<MarkingStream> {
  using DriverWithStreams::DriverWithStreams;
  Result<std::unique_ptr<Event>> make_event(std::int32_t device) override {
    auto real = SharingDriver::make_event(device);
    return std::unique_ptr<Event>(std::make_unique<ReachedEvent>(std::move(*real)));
  }
};

} // namespace strata::device
