// SPDX-License-Identifier: BSD-3-Clause
// The emulated device for ranks that are threads of one process: they map each other's memory too, and whoever frees
// what another rank has mapped is seen.
#pragma once

#include "device/emulated/driver.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace strata::device {

class SharingDriver : public EmulatedDriver {
public:
  explicit SharingDriver(std::shared_ptr<Accelerator> accelerator)
      : EmulatedDriver(accelerator), accelerator_(std::move(accelerator)) {}

  Result<std::string> export_memory(void* memory) override {
    if (const auto exported = EmulatedDriver::export_memory(memory); !exported) return exported.error();
    return std::string(reinterpret_cast<const char*>(&memory), sizeof memory);
  }
  Result<void*> open_exported(const std::string& exported, std::int32_t) override {
    void* memory = nullptr;
    std::memcpy(&memory, exported.data(), sizeof memory);
    const std::lock_guard lock(accelerator_->mutex);
    ++openings()[memory];
    return memory;
  }
  Status close_exported(void* memory) override {
    const std::lock_guard lock(accelerator_->mutex);
    --openings()[memory];
    return ok();
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
};

} // namespace strata::device
