// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/kernels.h"

#include "kernel/cuda/reduce.h"

#include <fmt/format.h>

#include <algorithm>

// The file lies where make was started.
__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".hidden strata_cuda_image\n"
        ".globl strata_cuda_image\n"
        "strata_cuda_image:\n"
        ".incbin \"" STRATA_CUDA_IMAGE "\"\n"
        ".popsection\n");

namespace strata::device {
namespace {

using type::Element;
using type::Operation;

/// Four of 256 threads keep enough loads under way to fill the memory's pipeline by Little's law (3.4 TB/s for 700 ns
/// are 18 KB for each of 132 multiprocessors; a thread has 64 bytes under way). Not measured.
constexpr std::uint64_t blocks_per_multiprocessor = 4;

/// Kernels that do not ask for the sign of an integer are there for unsigned ones only: see kernel/cuda/rows.h.
Element kernel_element(Element element, Operation operation) {
  if (operation == Operation::minimum || operation == Operation::maximum) return element;
  switch (element) {
  case Element::int8:
    return Element::uint8;
  case Element::int16:
    return Element::uint16;
  case Element::int32:
    return Element::uint32;
  case Element::int64:
    return Element::uint64;
  default:
    return element;
  }
}

} // namespace

std::string kernel_name(Element element, Operation operation) {
  return fmt::format("strata_reduce_{}_{}", name_of(kernel_element(element, operation)), name_of(operation));
}

Kernels::Kernels(const Library& library, Contexts& contexts, std::int32_t device, std::uint64_t most_blocks)
    : library_(library), contexts_(contexts), device_(device), most_blocks_(most_blocks) {}

Kernels::~Kernels() {
  if (module_ == nullptr) return;
  if (const auto context = contexts_.primary(device_)) {
    const Current current(library_, *context);
    static_cast<void>(library_.cuModuleUnload(module_));
  }
}

Status Kernels::load() {
  if (failure_) return *failure_;
  if (module_ != nullptr) return ok();
  if (most_blocks_ == 0) {
    int multiprocessors = 0;
    const CUresult code = library_.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                                        contexts_.handle(device_));
    most_blocks_ = blocks_per_multiprocessor * (code == CUDA_SUCCESS ? static_cast<std::uint64_t>(multiprocessors) : 1);
  }
  const CUresult code = library_.cuModuleLoadData(&module_, strata_cuda_image);
  if (code == CUDA_SUCCESS) return ok();
  module_ = nullptr;
  failure_ = library_.error(code, fmt::format("cuModuleLoadData of the kernels for device {}", device_));
  int version = 0;
  const bool driver_is_older = library_.cuDriverGetVersion(&version) == CUDA_SUCCESS && version < CUDA_VERSION;
  if (driver_is_older)
    failure_->message += fmt::format(" (the driver is of CUDA {}.{}, the kernels were made by {}.{})", version / 1000,
                                     version % 1000 / 10, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
  return *failure_;
}

Result<CUfunction> Kernels::find(Element element, Operation operation) {
  const std::lock_guard lock(mutex_);
  if (const Status loaded = load(); !loaded) return loaded.error();
  CUfunction& function = functions_[static_cast<std::size_t>(element)][static_cast<std::size_t>(operation)];
  if (function != nullptr) return function;
  const std::string name = kernel_name(element, operation);
  const CUresult code = library_.cuModuleGetFunction(&function, module_, name.c_str());
  if (code == CUDA_SUCCESS) return function;
  function = nullptr;
  return library_.error(code, fmt::format("cuModuleGetFunction of {} on device {}", name, device_));
}

std::uint64_t Kernels::blocks_for(Element element, std::size_t count) const {
  const std::size_t packs = count * bytes_of(element) / kernel::cuda::pack_bytes + 1;
  const std::uint64_t needed = (packs + kernel::cuda::block_threads - 1) / kernel::cuda::block_threads;
  return std::min(needed, most_blocks_);
}

Status Kernels::reduce(CUstream stream, Element element, Operation operation, void* to,
                       std::span<const void* const> from, std::size_t count) {
  const auto function = find(element, operation);
  if (!function) return function.error();
  if (count == 0) return ok();
  kernel::cuda::Reduction reduction{};
  reduction.out = to;
  std::copy(from.begin(), from.end(), reduction.in);
  reduction.count = count;
  reduction.inputs = static_cast<std::uint32_t>(from.size());
  void* arguments[] = {&reduction};
  const CUresult code = library_.cuLaunchKernel(*function, static_cast<unsigned>(blocks_for(element, count)), 1, 1,
                                                kernel::cuda::block_threads, 1, 1, 0, stream, arguments, nullptr);
  return library_.checked(code,
                          fmt::format("cuLaunchKernel of {} on device {}", kernel_name(element, operation), device_));
}

} // namespace strata::device
