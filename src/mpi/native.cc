// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/native.h"

#include "device/vector.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace strata::mpi {
namespace {

using comm::DevicePath;

/// The bytes that a buffer's elements lie in, from the address that a program passes.
struct Extent {
  std::ptrdiff_t low = 0;
  std::size_t bytes = 0;
  bool gaps = false; ///< not every byte is of an element
};

Extent extent_of(const Arguments& given) {
  MPI_Count low = 0, extent = 0, true_low = 0, true_extent = 0, size = 0;
  PMPI_Type_get_extent_x(given.datatype, &low, &extent);
  PMPI_Type_get_true_extent_x(given.datatype, &true_low, &true_extent);
  PMPI_Type_size_x(given.datatype, &size);
  const MPI_Count last = (given.count - 1) * extent; // an extent may be negative
  const MPI_Count begin = true_low + std::min<MPI_Count>(0, last);
  const MPI_Count end = true_low + true_extent + std::max<MPI_Count>(0, last);
  return {static_cast<std::ptrdiff_t>(begin), static_cast<std::size_t>(end - begin),
          size != true_extent || size != extent};
}

/// A buffer of the program and, if it is in device memory, a copy in host memory.
class HostCopy {
public:
  explicit HostCopy(comm::Device& device) : device_(device) {}
  ~HostCopy() { std::free(copy_); }
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;

  Status look(const void* buffer, const Extent& extent) {
    buffer_ = reinterpret_cast<std::uintptr_t>(buffer);
    extent_ = extent;
    // By numbers: the address may be MPI_BOTTOM.
    return vector_.look(device_.driver(), reinterpret_cast<void*>(first(buffer_)), extent.bytes);
  }
  bool needed() const { return vector_.on_device(); }
  Status allocate() {
    copy_ = std::malloc(std::max<std::size_t>(extent_.bytes, 1));
    if (copy_ == nullptr) return Error{ErrorKind::resource, fmt::format("no {} bytes of host memory", extent_.bytes)};
    auto made = device::VectorStreams::make(device_.driver(), vector_);
    if (!made) return made.error();
    streams_ = std::move(*made);
    return ok();
  }
  Status fetch() { return counted(streams_.fetch(vector_, 0, extent_.bytes, static_cast<std::byte*>(copy_))); }
  Status deliver() { return counted(streams_.deliver(vector_, 0, extent_.bytes, static_cast<std::byte*>(copy_))); }
  /// What to pass in place of the buffer.
  void* stand_in() const {
    const auto low = static_cast<std::uintptr_t>(extent_.low);
    return reinterpret_cast<void*>(copy_ != nullptr ? reinterpret_cast<std::uintptr_t>(copy_) - low : buffer_);
  }

private:
  std::uintptr_t first(std::uintptr_t buffer) const { return buffer + static_cast<std::uintptr_t>(extent_.low); }
  Status counted(Status copied) {
    if (copied) device_.count_bytes(DevicePath::staged_native, extent_.bytes);
    return copied;
  }

  comm::Device& device_;
  std::uintptr_t buffer_ = 0;
  Extent extent_;
  device::Vector vector_;
  device::VectorStreams streams_; ///< once there is a copy
  void* copy_ = nullptr;
};

int fail(State& state, const Arguments& given, const Error& error) {
  return raise_error(state, given.communicator, MPI_ERR_NO_MEM,
                     fmt::format("a buffer in device memory cannot be staged for the MPI library: {}", error.message));
}

int call_staged(State& state, const Arguments& given, HostCopy& send, HostCopy& receive, bool gaps) {
  const bool in_place = given.send == MPI_IN_PLACE, same = given.send == given.receive;
  state.device->count_call(DevicePath::staged_native);
  if (send.needed()) {
    if (const Status made = send.allocate(); !made) return fail(state, given, made.error());
    if (const Status fetched = send.fetch(); !fetched) return fail(state, given, fetched.error());
  }
  if (receive.needed()) {
    if (const Status made = receive.allocate(); !made) return fail(state, given, made.error());
    if (in_place || same || gaps)
      if (const Status fetched = receive.fetch(); !fetched) return fail(state, given, fetched.error());
  }
  Arguments staged = given;
  staged.send = in_place ? MPI_IN_PLACE : (same ? receive : send).stand_in();
  staged.receive = receive.stand_in();
  const int code = call_native(state, staged);
  if (code != MPI_SUCCESS || !receive.needed()) return code;
  if (const Status delivered = receive.deliver(); !delivered) return fail(state, given, delivered.error());
  return code;
}

} // namespace

int raise_error(State& state, MPI_Comm communicator, int code, const std::string& line) {
  state.process->say_once(line);
  PMPI_Comm_call_errhandler(communicator, code);
  return code;
}

bool native_knows_cuda(const State& state) {
  void* const library = dlopen(state.native->library, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  // An extension of Open MPI that MPICH has too.
  const auto query = reinterpret_cast<int (*)()>(dlsym(library, "MPIX_Query_cuda_support"));
  const bool knows = query != nullptr && query() == 1;
  dlclose(library);
  return knows;
}

int call_native(const State& state, const Arguments& given) {
  // A count that fits an int is the same call through either entry.
  if (given.count == static_cast<int>(given.count))
    return state.native_allreduce(given.send, given.receive, static_cast<int>(given.count), given.datatype,
                                  given.operation, given.communicator);
  return state.native_allreduce_c(given.send, given.receive, given.count, given.datatype, given.operation,
                                  given.communicator);
}

int call_native_beside_device(State& state, const Arguments& given) {
  if (state.device_native == DeviceNative::pass || given.count <= 0 || given.datatype == MPI_DATATYPE_NULL ||
      given.communicator == MPI_COMM_NULL)
    return call_native(state, given);
  HostCopy send(*state.device), receive(*state.device);
  const Extent extent = extent_of(given);
  if (given.send != MPI_IN_PLACE && given.send != given.receive)
    if (const Status looked = send.look(given.send, extent); !looked) return fail(state, given, looked.error());
  if (given.receive != MPI_IN_PLACE)
    if (const Status looked = receive.look(given.receive, extent); !looked) return fail(state, given, looked.error());
  if (!send.needed() && !receive.needed()) return call_native(state, given);
  if (state.device_native != DeviceNative::refuse) return call_staged(state, given, send, receive, extent.gaps);
  return raise_error(state, given.communicator, MPI_ERR_BUFFER,
                     fmt::format("MPI_Allreduce with {} in device memory is refused (STRATA_DEVICE_NATIVE=refuse)",
                                 receive.needed() ? "a receive buffer" : "a send buffer"));
}

} // namespace strata::mpi
