// SPDX-License-Identifier: BSD-3-Clause
#include "base/host.h"

#include "base/text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <system_error>

#include <sched.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace strata {

namespace {

/// The whole file; empty when it cannot be read.
std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

std::optional<double> quota_of(std::string_view quota, std::string_view period) {
  const auto most = parse_number(quota); // "max" and -1 mean unlimited.
  const auto per = parse_number(period);
  if (!most || !per || *most == 0 || *per == 0) return std::nullopt;
  return static_cast<double>(*most) / static_cast<double>(*per);
}

/// Version 2: "max 100000" or "150000 100000", in µs.
std::optional<double> unified_quota(const std::string& folder) {
  const std::string text = content(folder + "/cpu.max");
  const auto words = split(trim(text), ' ');
  return words.size() == 2 ? quota_of(words[0], words[1]) : std::nullopt;
}

std::optional<double> legacy_quota(const std::string& folder) {
  const std::string quota = content(folder + "/cpu.cfs_quota_us");
  const std::string period = content(folder + "/cpu.cfs_period_us");
  return quota_of(trim(quota), trim(period));
}

/// The least quota from `group` up to the root of the hierarchy mounted at `mount`. A group that is not there, because
/// a container mounts its own as the root, is passed over.
std::optional<double> tightest(const std::string& mount, std::string_view group,
                               std::optional<double> (*quota_in)(const std::string&)) {
  std::optional<double> least;
  for (std::string path(group);; path.resize(path.rfind('/'))) {
    while (path.ends_with('/'))
      path.pop_back();
    if (const auto quota = quota_in(mount + path); quota && (!least || *quota < *least)) least = quota;
    if (path.find('/') == std::string::npos) return least;
  }
}

} // namespace

std::vector<int> allowed_cpus() {
  // The kernel refuses a mask that is smaller than its own, whose size it does not tell.
  for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(static_cast<std::size_t>(most)),
                                                                [](cpu_set_t* set) { CPU_FREE(set); });
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
    if (!mask) break;
    if (sched_getaffinity(getpid(), size, mask.get()) != 0) continue;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < most; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, mask.get())) cpus.push_back(cpu);
    return cpus;
  }
  return {};
}

std::optional<double> cpu_quota(std::string_view groups, const std::string& mount) {
  std::optional<double> least;
  const auto note = [&](std::optional<double> quota) {
    if (quota && (!least || *quota < *least)) least = quota;
  };
  for (std::string_view line : split(groups, '\n')) { // "3:cpu,cpuacct:/jobs/7", or "0::/jobs/7" for version 2
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const std::string_view group = line.substr(static_cast<std::size_t>(parts[2].data() - line.data()));
    if (parts[1].empty()) {
      note(tightest(mount, group, unified_quota));
      continue;
    }
    const auto controllers = split(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "cpu") == controllers.end()) continue;
    note(tightest(mount + "/" + std::string(parts[1]), group, legacy_quota));
    if (controllers.size() > 1) note(tightest(mount + "/cpu", group, legacy_quota));
  }
  return least;
}

std::optional<double> cpu_quota() { return cpu_quota(content("/proc/self/cgroup"), "/sys/fs/cgroup"); }

std::uint64_t hardware_threads() {
  const long count = ::sysconf(_SC_NPROCESSORS_CONF);
  return count < 1 ? 1 : static_cast<std::uint64_t>(count);
}

std::int32_t numa_node_of_pci(std::string address, const std::string& devices) {
  for (char& letter : address) // the kernel has small ones
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  std::int32_t node = -1;
  return std::ifstream(devices + "/" + address + "/numa_node") >> node ? node : -1;
}

std::uint64_t socket_space() {
  // Then the kernel keeps other processes out of this one's memory, those of the same user too.
  if (::getauxval(AT_SECURE) != 0 || ::prctl(PR_GET_DUMPABLE) != 1) return 0;
  const std::string start = content("/proc/sys/kernel/random/boot_id");
  std::error_code unreadable;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", unreadable); // "net:[4026531840]"
  if (start.empty() || unreadable) return 0;
  return std::hash<std::string>()(start + network.string());
}

} // namespace strata
