// SPDX-License-Identifier: BSD-3-Clause
#include "base/core_share.h"

#include "base/host.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace strata {

CoreShare core_share() {
  const std::vector<int> cpus = allowed_cpus();
  CoreShare share;
  share.machine = static_cast<std::uint32_t>(hardware_threads());
  share.threads = cpus.empty() ? share.machine : static_cast<std::uint32_t>(cpus.size());
  std::string mask;
  for (const int cpu : cpus)
    mask += std::to_string(cpu) + " ";
  share.mask = std::hash<std::string>()(mask);
  if (const auto quota = cpu_quota()) share.quota = std::max(1U, static_cast<std::uint32_t>(std::ceil(*quota)));
  return share;
}

std::uint32_t cores_together(std::span<const CoreShare> processes) {
  struct Mask {
    std::uint32_t threads = 1, processes = 0;
  };
  std::map<std::uint64_t, Mask> masks;
  std::uint32_t machine = 1, quota = 0;
  for (const CoreShare& process : processes) {
    Mask& mask = masks[process.mask];
    mask.threads = std::max(1U, process.threads);
    ++mask.processes;
    machine = std::max(machine, process.machine);
    quota = std::max(quota, process.quota);
  }
  std::uint64_t together = 0;
  for (const auto& [number, mask] : masks)
    together += mask.threads;
  together = std::min<std::uint64_t>(together, machine);
  if (quota > 0) together = std::min<std::uint64_t>(together, quota);
  for (const auto& [number, mask] : masks)
    if (mask.processes > mask.threads)
      together = std::min<std::uint64_t>(together, processes.size() * mask.threads / mask.processes);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, together));
}

} // namespace strata
