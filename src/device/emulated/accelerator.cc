// SPDX-License-Identifier: BSD-3-Clause
#include "device/emulated/accelerator.h"

#include <fmt/format.h>

namespace strata::device {

Status Accelerator::copy(void* to, const void* from, std::size_t bytes) {
  if (copies.fetch_add(1) >= faults.lost_after && faults.lost_after != 0)
    return Error{ErrorKind::resource, "the emulated device is lost"};
  return memory.copy(to, from, bytes);
}

Status Accelerator::check_reach(std::int32_t device, const void* pointer, std::size_t bytes) {
  const Memory found = memory.find(pointer);
  if (found.kind == Kind::host) return argument_error(fmt::format("a kernel cannot use host memory at {}", pointer));
  if (const auto reached = memory.reach(pointer, bytes); !reached) return reached.error();
  if (found.kind != Kind::device || found.device == device) return ok();
  const std::lock_guard lock(mutex);
  if (peers.contains({device, found.device})) return ok();
  return argument_error(
      fmt::format("device {} has no access to device {}'s memory at {}", device, found.device, pointer));
}

Status Accelerator::check_pools(std::int32_t device, const void* pointer) const {
  const Memory found = memory.find(pointer);
  if (found.kind != Kind::device || found.device == device || found.reached_by_all) return ok();
  return Error{ErrorKind::unsupported,
               fmt::format("device {} has no access to the pool of device {} with {}", device, found.device, pointer)};
}

} // namespace strata::device
