// SPDX-License-Identifier: BSD-3-Clause
// NVIDIA GPUs behind the interface of device/driver.h, by the CUDA driver API of the libcuda.so.1 that the program has
// loaded itself.
//
// It is ready when libcuda is in the process and cuInit was called. Whether there is a context is not asked: looking at
// a pointer then costs less than looking at each device, and the thread that calls MPI may be another than the one
// that works with CUDA.
//
// Memory of the program may be from any context; copies reach it by unified addressing. Kernels run in the device's
// primary context, and reach what was allocated there, or mapped for the device.
#pragma once

#include "device/cuda/contexts.h"
#include "device/cuda/kernels.h"
#include "device/cuda/mappings.h"
#include "device/driver.h"
#include "device/held_frees.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace strata::device {

class CudaDriver final : public Driver {
public:
  explicit CudaDriver(std::uint64_t most_blocks) : most_blocks_(most_blocks) {}
  ~CudaDriver() override;

  const char* name() const override { return "cuda"; }
  bool initialised() override;
  Status initialise() override;
  std::string why_blind() override;
  Result<Memory> memory_of(const void* pointer) override;
  std::int32_t devices() override;
  Result<Facts> facts(std::int32_t device) override;
  std::int32_t links(std::int32_t device) override;
  std::vector<std::string> linked_to(std::int32_t device) override;
  Result<void*> allocate(std::int32_t device, std::size_t bytes) override;
  Status free(void* memory) override;
  Result<void*> allocate_managed(std::int32_t device, std::size_t bytes) override;
  Status free_managed(void* memory) override;
  Result<void*> allocate_pinned(std::size_t bytes) override;
  Status free_pinned(void* memory) override;
  MemoryKind kind_for_networks() const override { return MemoryKind::cuda; }
  void* address_for_networks(void* memory) override { return memory; }
  Result<std::unique_ptr<Stream>> make_stream(std::int32_t device) override;
  Result<std::unique_ptr<Stream>> adopt_stream(void* stream) override;
  Result<std::unique_ptr<Event>> make_event(std::int32_t device) override;
  Status prepare_reduction(std::int32_t device, const void* memory, type::Element element,
                           type::Operation operation) override;
  Status check(const void* memory) override;
  void hold_frees() override { held_frees_.hold(); }
  void release_frees() override { held_frees_.release(); }
  void leave_captures_alone() override;
  void enter_thread(std::int32_t device) override;
  Status synchronise(std::int32_t device) override;
  Result<std::string> export_memory(void* memory) override;
  Result<void*> open_exported(const std::string& exported, std::int32_t device) override;
  Result<bool> close_exported(void* memory) override;
  Result<bool> reaches(std::int32_t device, std::int32_t peer) override;
  Status enable_peer_access(std::int32_t device, std::int32_t peer) override;

private:
  /// What there is once the program has called cuInit.
  struct Ready {
    Ready(const Library& found, std::uint64_t most_blocks);
    const Library library;
    Contexts contexts;
    Mappings mappings;
    std::vector<std::unique_ptr<Kernels>> kernels; ///< by device
  };

  /// What there is, or the error that nothing is yet.
  Result<Ready*> ready();
  /// What `body(ready, context)` answers in the primary context of a device, or why that cannot be entered.
  template <typename Answer, typename Body>
  Answer in_context_of(std::int32_t device, const Body& body) {
    const auto state = ready();
    if (!state) return state.error();
    const auto context = (*state)->contexts.primary(device);
    if (!context) return context.error();
    const Current current((*state)->library, *context);
    return body(**state, *context);
  }
  bool look();
  Status free_of_kind(void* memory, Kind kind, const char* what);

  HeldFrees held_frees_;
  const std::uint64_t most_blocks_;
  std::atomic<Ready*> ready_ = nullptr; ///< owned
  std::mutex mutex_;                    ///< of what follows
  void* libcuda_ = nullptr;
  std::optional<Result<Library>> library_; ///< An error stays: what is loaded does not change.
  std::uint64_t loaded_objects_ = 0;       ///< how many the process had loaded when it was last looked for libcuda
};

} // namespace strata::device
