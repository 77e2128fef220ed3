// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/mappings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <type_traits>

#include <sys/random.h>

namespace strata::device {
namespace {

/// What travels between processes, as bytes. The nonce names the exporting process: process ids repeat over the
/// containers of a machine. The id tells memory from what has its address, and perhaps its handle, after it was freed.
struct Exported {
  std::array<char, 8> format{'c', 'u', 'd', 'a', 'i', 'p', 'c', '2'};
  std::array<char, 36> machine{}; ///< the kernel's boot id, the same in all containers
  std::uint32_t unused = 0;
  std::uint64_t buffer = 0;
  std::uint64_t process = 0;
  CUipcMemHandle handle{};
};
static_assert(std::is_trivially_copyable_v<Exported> && std::has_unique_object_representations_v<Exported>);

std::array<char, 36> this_machine() {
  std::array<char, 36> id{};
  std::ifstream("/proc/sys/kernel/random/boot_id").read(id.data(), id.size());
  return id;
}

std::uint64_t this_process() {
  static const std::uint64_t nonce = [] {
    std::uint64_t drawn = 0;
    // Where the kernel has no random numbers, CUDA itself refuses a handle of its own process.
    static_cast<void>(getrandom(&drawn, sizeof drawn, 0));
    return drawn;
  }();
  return nonce;
}

CUdeviceptr place_of(void* memory) { return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory)); }

} // namespace

Mappings::~Mappings() {
  for (const auto& [key, mapping] : open_)
    if (const auto context = contexts_.primary(key.second)) {
      const Current current(library_, *context);
      static_cast<void>(library_.cuIpcCloseMemHandle(mapping.memory));
    }
}

Result<std::string> Mappings::export_memory(void* memory, std::int32_t device, std::uint64_t buffer) {
  const auto context = contexts_.primary(device);
  if (!context) return context.error();
  const Current current(library_, *context);
  Exported exported;
  exported.machine = this_machine();
  exported.process = this_process();
  exported.buffer = buffer;
  if (const CUresult code = library_.cuIpcGetMemHandle(&exported.handle, place_of(memory)); code != CUDA_SUCCESS) {
    Error error = library_.error(code, fmt::format("cuIpcGetMemHandle on device {}", device));
    error.kind = ErrorKind::unsupported;
    return error;
  }
  return std::string(reinterpret_cast<const char*>(&exported), sizeof exported);
}

/// Whether other memory of the same handle is open: CUDA would give that, which its owner has freed.
bool Mappings::is_stale(const std::string& text, std::int32_t device) const {
  const auto handle_of = [](const std::string& exported) {
    return exported.substr(offsetof(Exported, process)); // the process and its handle
  };
  return std::any_of(open_.begin(), open_.end(), [&](const auto& one) {
    const auto& [of, on] = one.first;
    return on == device && of != text && handle_of(of) == handle_of(text);
  });
}

Result<void*> Mappings::open(const std::string& text, std::int32_t device) {
  Exported exported;
  const Exported expected;
  if (text.size() == sizeof exported) std::memcpy(&exported, text.data(), sizeof exported);
  if (text.size() != sizeof exported || exported.format != expected.format)
    return argument_error(fmt::format("{} bytes that are no handle of CUDA memory", text.size()));
  if (exported.machine != this_machine())
    return Error{ErrorKind::unsupported, "a handle of CUDA memory on another machine cannot be opened"};
  if (exported.process == this_process())
    return Error{ErrorKind::unsupported, "a handle of CUDA memory cannot be opened by the process that made it"};
  const auto context = contexts_.primary(device);
  if (!context) return context.error();
  const std::lock_guard lock(mutex_);
  if (is_stale(text, device))
    return Error{ErrorKind::unsupported, "a peer's memory is still mapped that had this place before it was freed"};
  Mapping& mapping = open_[{text, device}];
  if (mapping.uses == 0) {
    const Current current(library_, *context);
    const CUresult code =
        library_.cuIpcOpenMemHandle(&mapping.memory, exported.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (code != CUDA_SUCCESS) {
      open_.erase({text, device});
      Error error = library_.error(code, fmt::format("cuIpcOpenMemHandle on device {}", device));
      if (error.kind == ErrorKind::argument) error.kind = ErrorKind::unsupported; // freed by now, or not permitted
      return error;
    }
  }
  ++mapping.uses;
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(mapping.memory));
}

Status Mappings::close(void* memory) {
  const std::lock_guard lock(mutex_);
  for (auto at = open_.begin(); at != open_.end(); ++at) {
    if (at->second.memory != place_of(memory)) continue;
    if (--at->second.uses > 0) return ok();
    const std::int32_t device = at->first.second;
    open_.erase(at);
    const auto context = contexts_.primary(device);
    if (!context) return context.error();
    const Current current(library_, *context);
    return library_.checked(library_.cuIpcCloseMemHandle(place_of(memory)),
                            fmt::format("cuIpcCloseMemHandle on device {}", device));
  }
  return argument_error(fmt::format("{} is not the begin of memory of another process", memory));
}

} // namespace strata::device
