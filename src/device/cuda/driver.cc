// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/driver.h"

#include "base/host.h"
#include "device/cuda/nvlink.h"
#include "device/cuda/stream.h"
#include "device/initialised_cuda.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>

namespace strata::device {
namespace {

constexpr const char* libcuda_name = "libcuda.so.1";

CUdeviceptr place_of(const void* memory) { return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory)); }
void* memory_at(CUdeviceptr place) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(place)); }

/// A reference to libcuda if the process has it; never loads it.
void* loaded_libcuda() { return dlopen(libcuda_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD); }

/// How many objects the process has loaded so far. Costs a fraction of what dlopen does to say that one is not there.
std::uint64_t count_loaded_objects() {
  std::uint64_t count = 0;
  const auto first = [](dl_phdr_info* info, std::size_t, void* found) {
    *static_cast<std::uint64_t*>(found) = info->dlpi_adds;
    return 1;
  };
  dl_iterate_phdr(first, &count);
  return count;
}

/// What is asked of a pointer, in one call.
struct Answers {
  CUmemorytype type{}; ///< 0 for what CUDA does not know
  int device = -1;
  unsigned long long buffer = 0;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  unsigned managed = 0;
  int legacy_handles = 0;
};

CUresult ask(const Library& library, const void* pointer, Answers& answers) {
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                 CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
  void* values[] = {&answers.type,  &answers.device,  &answers.buffer,        &answers.base,
                    &answers.bytes, &answers.managed, &answers.legacy_handles};
  static_assert(std::size(asked) == std::size(values));
  return library.cuPointerGetAttributes(std::size(asked), asked, values, place_of(pointer));
}

Memory memory_from(const Answers& answers) {
  Memory memory;
  if (answers.managed != 0)
    memory.kind = Kind::managed;
  else if (answers.type == CU_MEMORYTYPE_DEVICE)
    memory.kind = Kind::device;
  else if (answers.type == CU_MEMORYTYPE_HOST)
    memory.kind = Kind::pinned;
  else
    return memory;
  memory.device = memory.kind == Kind::pinned ? -1 : answers.device;
  memory.buffer = answers.buffer;
  memory.base = static_cast<std::byte*>(memory_at(answers.base));
  memory.bytes = answers.bytes;
  memory.exportable = memory.kind == Kind::device && answers.legacy_handles != 0;
  // Unified addressing copies what cuMemAlloc gave between any devices. What else there is has handles of another kind,
  // and is for the devices that were given access to it (CUDA driver API, cuMemSetAccess and cuMemPoolSetAccess).
  memory.reached_by_all = memory.exportable;
  return memory;
}

} // namespace

CudaDriver::Ready::Ready(const Library& found, std::uint64_t most_blocks)
    : library(found), contexts(library), mappings(library, contexts) {
  for (std::int32_t device = 0; device < contexts.devices(); ++device)
    kernels.push_back(std::make_unique<Kernels>(library, contexts, device, most_blocks));
}

CudaDriver::~CudaDriver() {
  held_frees_.flush();
  delete ready_.load();
  if (libcuda_ != nullptr) dlclose(libcuda_);
}

bool CudaDriver::initialised() { return ready_.load(std::memory_order_acquire) != nullptr || look(); }

Status CudaDriver::initialise() {
  if (initialised()) return ok();
  {
    const std::lock_guard lock(mutex_);
    if (libcuda_ == nullptr) libcuda_ = dlopen(libcuda_name, RTLD_LAZY | RTLD_LOCAL);
    if (libcuda_ == nullptr) return Error{ErrorKind::unsupported, dlerror()};
    if (!library_) library_ = library_in(libcuda_);
    if (!*library_) return library_->error();
    if (const CUresult code = (**library_).cuInit(0); code != CUDA_SUCCESS)
      return Error{ErrorKind::unsupported, (**library_).error(code, "cuInit").message};
  }
  return look() ? ok() : Error{ErrorKind::unsupported, "CUDA is initialised and does not say so"};
}

bool CudaDriver::look() {
  const std::lock_guard lock(mutex_);
  if (ready_.load(std::memory_order_acquire) != nullptr) return true;
  if (libcuda_ == nullptr) {
    const std::uint64_t loaded_objects = count_loaded_objects();
    if (loaded_objects == loaded_objects_) return false;
    libcuda_ = loaded_libcuda();
    loaded_objects_ = loaded_objects;
    if (libcuda_ == nullptr) return false;
  }
  if (!library_) library_ = library_in(libcuda_);
  if (!*library_) return false;
  CUcontext context = nullptr;
  if ((**library_).cuCtxGetCurrent(&context) != CUDA_SUCCESS) return false; // before cuInit: CUDA_ERROR_NOT_INITIALIZED
  ready_.store(new Ready(**library_, most_blocks_), std::memory_order_release);
  return true;
}

std::string CudaDriver::why_blind() {
  if (initialised()) return {};
  const std::lock_guard lock(mutex_);
  if (!library_ || *library_ || !is_initialised(libcuda_)) return {};
  return library_->error().message;
}

Result<CudaDriver::Ready*> CudaDriver::ready() {
  if (initialised()) return ready_.load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  if (library_ && !*library_) return library_->error();
  return Error{ErrorKind::unsupported, "the program has not initialised CUDA"};
}

Result<Memory> CudaDriver::memory_of(const void* pointer) {
  const auto state = ready();
  if (!state) return Memory{};
  const Library& library = (*state)->library;
  Answers answers;
  CUresult code = ask(library, pointer, answers);
  if (code == CUDA_ERROR_INVALID_CONTEXT) {
    // Of a thread that has none, any does that is known here. Where the program has made its own alone, such a thread's
    // buffers are taken for the host's: a primary context for the question would take memory of a device that nobody
    // may use.
    const CUcontext context = (*state)->contexts.any_active();
    if (context == nullptr) return Memory{};
    const Current current(library, context);
    code = ask(library, pointer, answers);
    if (code == CUDA_ERROR_INVALID_CONTEXT && current.is_current()) return Memory{}; // it is in no context at all
  }
  switch (code) {
  case CUDA_SUCCESS:
    return memory_from(answers);
  case CUDA_ERROR_INVALID_VALUE:   // some drivers say this of the host's memory
  case CUDA_ERROR_NOT_INITIALIZED: // nobody has memory of a device any more
  case CUDA_ERROR_DEINITIALIZED:   // while the program ends
    return Memory{};
  default:
    return library.error(code, fmt::format("cuPointerGetAttributes of {}", pointer));
  }
}

std::int32_t CudaDriver::devices() {
  const auto state = ready();
  return state ? (*state)->contexts.devices() : 0;
}

Result<Facts> CudaDriver::facts(std::int32_t device) {
  const auto state = ready();
  if (!state) return state.error();
  const Library& library = (*state)->library;
  if (device < 0 || device >= (*state)->contexts.devices())
    return argument_error(fmt::format("there is no device {}", device));
  const CUdevice handle = (*state)->contexts.handle(device);
  Facts facts;
  char name[256] = "", address[32] = "";
  if (const CUresult code = library.cuDeviceGetName(name, sizeof name, handle); code != CUDA_SUCCESS)
    return library.error(code, fmt::format("cuDeviceGetName of device {}", device));
  if (const CUresult code = library.cuDeviceGetPCIBusId(address, sizeof address, handle); code != CUDA_SUCCESS)
    return library.error(code, fmt::format("cuDeviceGetPCIBusId of device {}", device));
  if (const CUresult code = library.cuDeviceTotalMem(&facts.bytes, handle); code != CUDA_SUCCESS)
    return library.error(code, fmt::format("cuDeviceTotalMem of device {}", device));
  facts.name = name;
  facts.pci_address = address;
  facts.numa = numa_node_of_pci(facts.pci_address);
  return facts;
}

Result<void*> CudaDriver::allocate(std::int32_t device, std::size_t bytes) {
  return in_context_of<Result<void*>>(device, [&](Ready& state, CUcontext) -> Result<void*> {
    CUdeviceptr place = 0;
    if (const CUresult code = state.library.cuMemAlloc(&place, bytes); code != CUDA_SUCCESS)
      return state.library.error(code, fmt::format("cuMemAlloc of {} bytes on device {}", bytes, device));
    return memory_at(place);
  });
}

/// What allocate() or allocate_managed() gave.
Status CudaDriver::free_of_kind(void* memory, Kind kind, const char* what) {
  const auto found = memory_of(memory);
  if (!found) return found.error();
  const auto state = ready();
  if (!state || found->kind != kind) return argument_error(fmt::format("{} is not {}", memory, what));
  const auto context = (*state)->contexts.primary(found->device);
  if (!context) return context.error();
  const Library& library = (*state)->library;
  return held_frees_.free([&library, context = *context, memory, device = found->device] {
    const Current current(library, context);
    return library.checked(library.cuMemFree(place_of(memory)), fmt::format("cuMemFree on device {}", device));
  });
}

Status CudaDriver::free(void* memory) { return free_of_kind(memory, Kind::device, "memory of a device"); }

Result<void*> CudaDriver::allocate_managed(std::int32_t device, std::size_t bytes) {
  return in_context_of<Result<void*>>(device, [&](Ready& state, CUcontext) -> Result<void*> {
    CUdeviceptr place = 0;
    if (const CUresult code = state.library.cuMemAllocManaged(&place, bytes, CU_MEM_ATTACH_GLOBAL);
        code != CUDA_SUCCESS)
      return state.library.error(code, fmt::format("cuMemAllocManaged of {} bytes on device {}", bytes, device));
    return memory_at(place);
  });
}

Status CudaDriver::free_managed(void* memory) { return free_of_kind(memory, Kind::managed, "managed memory"); }

Result<void*> CudaDriver::allocate_pinned(std::size_t bytes) {
  const auto state = ready();
  if (!state) return state.error();
  // In any context: it is for those of all devices.
  CUcontext context = (*state)->contexts.any_active();
  if (context == nullptr) {
    const auto first = (*state)->contexts.primary(0);
    if (!first) return first.error();
    context = *first;
  }
  const Library& library = (*state)->library;
  const Current current(library, context);
  void* memory = nullptr;
  if (const CUresult code = library.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE); code != CUDA_SUCCESS)
    return library.error(code, fmt::format("cuMemHostAlloc of {} bytes", bytes));
  return memory;
}

Status CudaDriver::free_pinned(void* memory) {
  const auto state = ready();
  if (!state) return state.error();
  return held_frees_.free([&ready = **state, memory] {
    const Current current(ready.library, ready.contexts.any_active());
    return ready.library.checked(ready.library.cuMemFreeHost(memory), "cuMemFreeHost");
  });
}

Result<std::unique_ptr<Stream>> CudaDriver::make_stream(std::int32_t device) {
  using Made = Result<std::unique_ptr<Stream>>;
  return in_context_of<Made>(device, [&](Ready& state, CUcontext context) -> Made {
    CUstream stream = nullptr;
    if (const CUresult code = state.library.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING); code != CUDA_SUCCESS)
      return state.library.error(code, fmt::format("cuStreamCreate on device {}", device));
    Kernels& kernels = *state.kernels[static_cast<std::size_t>(device)];
    return std::unique_ptr<Stream>(std::make_unique<CudaStream>(state.library, context, stream, device, kernels));
  });
}

Result<std::unique_ptr<Stream>> CudaDriver::adopt_stream(void* stream) {
  const auto state = ready();
  if (!state) return state.error();
  const Library& library = (*state)->library;
  auto* const handle = static_cast<CUstream>(stream);
  CUstreamCaptureStatus capture{};
  if (const CUresult code = library.cuStreamIsCapturing(handle, &capture); code != CUDA_SUCCESS)
    return library.error(code, "cuStreamIsCapturing of the program's stream");
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE)
    return Error{ErrorKind::unsupported, "the stream is being captured into a graph, and what strata does for a call "
                                         "is no part of one"};
  // A stream may be of a context other than the primary one; the default stream is the current context's.
  CUcontext context = nullptr;
  if (const CUresult code = library.cuStreamGetCtx(handle, &context); code != CUDA_SUCCESS)
    return library.error(code, "cuStreamGetCtx of the program's stream");
  const Current current(library, context);
  CUdevice device = 0;
  if (const CUresult code = library.cuCtxGetDevice(&device); code != CUDA_SUCCESS)
    return library.error(code, "cuCtxGetDevice of the program's stream");
  for (std::int32_t number = 0; number < (*state)->contexts.devices(); ++number)
    if ((*state)->contexts.handle(number) == device)
      return std::unique_ptr<Stream>(std::make_unique<CudaStream>(library, context, handle, number,
                                                                  *(*state)->kernels[static_cast<std::size_t>(number)],
                                                                  CudaStream::Owner::program));
  return argument_error("the program's stream is of a device that CUDA does not list");
}

Result<std::unique_ptr<Event>> CudaDriver::make_event(std::int32_t device) {
  using Made = Result<std::unique_ptr<Event>>;
  return in_context_of<Made>(device, [&](Ready& state, CUcontext context) -> Made {
    CUevent event = nullptr;
    if (const CUresult code = state.library.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING); code != CUDA_SUCCESS)
      return state.library.error(code, fmt::format("cuEventCreate on device {}", device));
    return std::unique_ptr<Event>(std::make_unique<CudaEvent>(state.library, context, event, device));
  });
}

std::int32_t CudaDriver::links(std::int32_t device) {
  const auto known = facts(device);
  return known ? active_nvlinks(known->pci_address).value_or(-1) : -1;
}

std::vector<std::string> CudaDriver::linked_to(std::int32_t device) {
  const auto known = facts(device);
  return known ? nvlinked_to(known->pci_address) : std::vector<std::string>();
}

// The module of kernels is loaded, and a kernel found in it, when it is first needed, which may wait for the context
// (CUDA C++ Programming Guide, lazy loading).
Status CudaDriver::prepare_reduction(std::int32_t device, const void* memory, type::Element element,
                                     type::Operation operation) {
  return in_context_of<Status>(device, [&](Ready& state, CUcontext) {
    const void* const nothing[] = {memory, memory};
    // Without a kernel the call takes another path.
    static_cast<void>(state.kernels[static_cast<std::size_t>(device)]->reduce(nullptr, element, operation,
                                                                              const_cast<void*>(memory), nothing, 0));
    return ok();
  });
}

// It "may also return error codes from previous, asynchronous launches" (CUDA driver API, unified addressing).
Status CudaDriver::check(const void* memory) {
  const auto found = memory_of(memory);
  return found ? ok() : Status(found.error());
}

void CudaDriver::leave_captures_alone() {
  const auto state = ready();
  if (!state) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  static_cast<void>((*state)->library.cuThreadExchangeStreamCaptureMode(&mode));
}

void CudaDriver::enter_thread(std::int32_t device) {
  const auto state = ready();
  if (!state) return;
  const auto context = (*state)->contexts.primary(device);
  if (context) static_cast<void>((*state)->library.cuCtxPushCurrent(*context)); // without it, such a library complains
}

Status CudaDriver::synchronise(std::int32_t device) {
  return in_context_of<Status>(device, [&](Ready& state, CUcontext) {
    return state.library.checked(state.library.cuCtxSynchronize(),
                                 fmt::format("cuCtxSynchronize of device {}", device));
  });
}

Result<std::string> CudaDriver::export_memory(void* memory) {
  const auto found = memory_of(memory);
  if (!found) return found.error();
  if (found->kind != Kind::device) return argument_error(fmt::format("{} is not memory of a device", memory));
  if (!found->exportable)
    return Error{ErrorKind::unsupported,
                 fmt::format("memory of device {} from a pool or a virtual mapping has no handle for other processes",
                             found->device)};
  const auto state = ready();
  if (!state) return state.error();
  return (*state)->mappings.export_memory(memory, found->device, found->buffer);
}

Result<void*> CudaDriver::open_exported(const std::string& exported, std::int32_t device) {
  const auto state = ready();
  if (!state) return state.error();
  return (*state)->mappings.open(exported, device);
}

Result<bool> CudaDriver::close_exported(void* memory) {
  const auto state = ready();
  if (!state) return state.error();
  return held_frees_.free_unless_held([&] { return (*state)->mappings.close(memory); });
}

Result<bool> CudaDriver::reaches(std::int32_t device, std::int32_t peer) {
  const auto state = ready();
  if (!state) return state.error();
  Contexts& contexts = (*state)->contexts;
  for (const std::int32_t one : {device, peer})
    if (one < 0 || one >= contexts.devices()) return argument_error(fmt::format("there is no device {}", one));
  if (device == peer) return true;
  int can = 0;
  if (const CUresult code =
          (*state)->library.cuDeviceCanAccessPeer(&can, contexts.handle(device), contexts.handle(peer));
      code != CUDA_SUCCESS)
    return (*state)->library.error(code, fmt::format("cuDeviceCanAccessPeer of device {} to device {}", device, peer));
  return can != 0;
}

Status CudaDriver::enable_peer_access(std::int32_t device, std::int32_t peer) {
  const auto state = ready();
  if (!state) return state.error();
  Contexts& contexts = (*state)->contexts;
  const auto own = contexts.primary(device);
  if (!own) return own.error();
  if (device == peer) return ok();
  const Library& library = (*state)->library;
  const auto can = reaches(device, peer);
  if (!can) return can.error();
  if (!*can)
    return Error{ErrorKind::unsupported,
                 fmt::format("cuDeviceCanAccessPeer of device {} to device {}: no", device, peer)};
  // A context here for a device that only other processes use would cost its memory; what they export is opened with
  // access (CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS).
  if (!contexts.is_active(peer)) return ok();
  const auto other = contexts.primary(peer);
  if (!other) return other.error();
  const Current current(library, *own);
  const CUresult code = library.cuCtxEnablePeerAccess(*other, 0);
  if (code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return ok();
  return library.checked(code, fmt::format("cuCtxEnablePeerAccess of device {} to device {}", device, peer));
}

} // namespace strata::device
