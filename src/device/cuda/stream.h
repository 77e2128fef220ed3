// SPDX-License-Identifier: BSD-3-Clause
// Streams and events of a device's primary context. The driver that made them lives longer than they do.
#pragma once

#include "device/cuda/contexts.h"
#include "device/cuda/kernels.h"
#include "device/driver.h"

namespace strata::device {

class CudaEvent final : public Event {
public:
  CudaEvent(const Library& library, CUcontext context, CUevent event, std::int32_t device)
      : library_(library), context_(context), event_(event), device_(device) {}
  ~CudaEvent() override;
  Result<bool> reached() override;
  CUevent handle() const { return event_; }

private:
  const Library& library_;
  CUcontext context_;
  CUevent event_;
  std::int32_t device_;
};

class CudaStream final : public Stream {
public:
  enum class Owner : bool { strata, program };
  CudaStream(const Library& library, CUcontext context, CUstream stream, std::int32_t device, Kernels& kernels,
             Owner owner = Owner::strata)
      : library_(library), context_(context), stream_(stream), device_(device), kernels_(kernels), owner_(owner) {}
  ~CudaStream() override;
  Status copy(void* to, const void* from, std::size_t bytes) override;
  Status reduce(type::Element element, type::Operation operation, void* to, std::span<const void* const> from,
                std::size_t count) override;
  Status record(Event& event) override;
  Status wait_for(Event& event) override;
  Status set_word(std::uint32_t* word, std::uint32_t value) override;
  Status wait_for_word(const std::uint32_t* word, std::uint32_t value) override;
  Status synchronise() override;

private:
  const Library& library_;
  CUcontext context_;
  CUstream stream_;
  std::int32_t device_;
  Kernels& kernels_;
  Owner owner_;
};

} // namespace strata::device
