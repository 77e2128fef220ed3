// SPDX-License-Identifier: BSD-3-Clause
// What the operating system lets this process use, and tells of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// The hardware threads in the affinity mask of the process' main thread, ascending; empty when it cannot be read.
std::vector<int> allowed_cpus();

/// The processor time per time that control groups leave this process (1.5: one and a half hardware threads); nothing
/// when unlimited. Of nested groups the tightest counts, versions 1 and 2 alike.
std::optional<double> cpu_quota();
/// The same, from the text of /proc/self/cgroup and the folder where control groups are mounted.
std::optional<double> cpu_quota(std::string_view groups, const std::string& mount);

/// Hardware threads of the machine, whoever may use them; at least 1.
std::uint64_t hardware_threads();

/// The NUMA node that the PCI device at an address ("0000:3b:00.0", in capital letters too) is nearest to, by the
/// kernel's folder of such devices; -1: the kernel does not say, or there is no such device.
std::int32_t numa_node_of_pci(std::string address, const std::string& devices = "/sys/bus/pci/devices");

/// A number that all processes have alike that can reach each other through sockets without files: those of this
/// machine, since it was started, in this network namespace; and others with a probability of 2^-64. 0: not known, or
/// the kernel protects this process from others (it has more rights than its user, or is not dumpable).
std::uint64_t socket_space();

} // namespace strata
