// SPDX-License-Identifier: BSD-3-Clause
// Texts of errors are made only when there is one: what is here runs once for each slice.
#include "device/cuda/stream.h"

#include "type/type.h"

#include <fmt/format.h>

#include <cstdint>

namespace strata::device {
namespace {

CUdeviceptr place_of(const void* memory) { return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory)); }

Error no_words() {
  return {ErrorKind::unsupported, "libcuda.so.1 cannot make a stream wait for memory: needed is CUDA 11.7 or later"};
}

} // namespace

CudaEvent::~CudaEvent() {
  const Current current(library_, context_);
  static_cast<void>(library_.cuEventDestroy(event_));
}

Result<bool> CudaEvent::reached() {
  const CUresult code = library_.cuEventQuery(event_);
  if (code == CUDA_SUCCESS) return true;
  if (code == CUDA_ERROR_NOT_READY) return false;
  return library_.error(code, fmt::format("cuEventQuery on device {}", device_));
}

CudaStream::~CudaStream() {
  if (owner_ == Owner::program) return;
  const Current current(library_, context_);
  static_cast<void>(library_.cuStreamDestroy(stream_));
}

Status CudaStream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || to == from) return ok();
  const Current current(library_, context_);
  const CUresult code = library_.cuMemcpyAsync(place_of(to), place_of(from), bytes, stream_);
  if (code == CUDA_SUCCESS) return ok();
  return library_.error(code, fmt::format("cuMemcpyAsync of {} bytes on device {}", bytes, device_));
}

Status CudaStream::reduce(type::Element element, type::Operation operation, void* to, std::span<const void* const> from,
                          std::size_t count) {
  if (from.empty() || from.size() > most_inputs || !type::is_defined(element, operation))
    return argument_error(fmt::format("a device reduces 1 to {} vectors, not {}, by an operation that is "
                                      "defined on their elements, as {} of {} {}",
                                      most_inputs, from.size(), name_of(operation), name_of(element),
                                      type::is_defined(element, operation) ? "is" : "is not"));
  if (from.size() == 1) return copy(to, from[0], count * bytes_of(element));
  const Current current(library_, context_);
  return kernels_.reduce(stream_, element, operation, to, from, count);
}

Status CudaStream::record(Event& event) {
  const Current current(library_, context_);
  const CUresult code = library_.cuEventRecord(static_cast<CudaEvent&>(event).handle(), stream_);
  if (code == CUDA_SUCCESS) return ok();
  return library_.error(code, fmt::format("cuEventRecord on device {}", device_));
}

Status CudaStream::wait_for(Event& event) {
  const Current current(library_, context_);
  const CUresult code = library_.cuStreamWaitEvent(stream_, static_cast<CudaEvent&>(event).handle(), 0);
  if (code == CUDA_SUCCESS) return ok();
  return library_.error(code, fmt::format("cuStreamWaitEvent on device {}", device_));
}

// By unified addressing, pinned memory has one address for the host and all devices. Before the word is written, all
// memory that the work before it wrote is visible to the host (CUDA driver API, stream memory operations).
Status CudaStream::set_word(std::uint32_t* word, std::uint32_t value) {
  if (library_.cuStreamWriteValue32 == nullptr) return no_words();
  const Current current(library_, context_);
  const CUresult code = library_.cuStreamWriteValue32(stream_, place_of(word), value, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (code == CUDA_SUCCESS) return ok();
  return library_.error(code, fmt::format("cuStreamWriteValue32 on device {}", device_));
}

Status CudaStream::wait_for_word(const std::uint32_t* word, std::uint32_t value) {
  if (library_.cuStreamWaitValue32 == nullptr) return no_words();
  const Current current(library_, context_);
  const CUresult code = library_.cuStreamWaitValue32(stream_, place_of(word), value, CU_STREAM_WAIT_VALUE_GEQ);
  if (code == CUDA_SUCCESS) return ok();
  return library_.error(code, fmt::format("cuStreamWaitValue32 on device {}", device_));
}

Status CudaStream::synchronise() {
  const Current current(library_, context_);
  const CUresult code = library_.cuStreamSynchronize(stream_);
  if (code == CUDA_SUCCESS) return ok();
  return library_.error(code, fmt::format("cuStreamSynchronize on device {}", device_));
}

} // namespace strata::device
