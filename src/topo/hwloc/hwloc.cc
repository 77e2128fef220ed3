// SPDX-License-Identifier: BSD-3-Clause
// The module hwloc.so: the only file that includes hwloc.h.
#include "base/host.h"
#include "base/text.h"
#include "topo/hwloc/place.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

namespace strata::topo {

namespace {

using Topology = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;
using CpuSet = std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)>;

constexpr hwloc_obj_type_t cache_types[] = {HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE};

/// The whole machine, parts that a control group forbids included: only so does every process on it number its parts
/// alike. Of all that hwloc can find, nothing else is looked for: this runs in a program's first collective. With
/// `devices`, what is behind PCI too.
Result<Topology> load(const MachineWords& words, bool devices = false) {
  hwloc_topology_t loaded = nullptr;
  if (hwloc_topology_init(&loaded) != 0)
    return Error{ErrorKind::resource, fmt::format("hwloc does not start: {}", std::strerror(errno))};
  Topology topology(loaded, hwloc_topology_destroy);
  hwloc_topology_set_all_types_filter(loaded, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const hwloc_obj_type_t type : cache_types)
    hwloc_topology_set_type_filter(loaded, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(loaded, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(loaded, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  // Without groups hwloc hangs a NUMA node that is smaller than a package under the package, with all its cores.
  hwloc_topology_set_type_filter(loaded, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  if (devices) hwloc_topology_set_io_types_filter(loaded, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020800
  flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
  hwloc_topology_set_flags(loaded, flags);
#if HWLOC_API_VERSION >= 0x00020100
  // The x86 backend binds the calling thread to each core in turn; Linux' /sys tells the same without. The others start
  // the libraries of accelerators.
  for (const char* const name : {"x86", "cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"})
    hwloc_topology_set_components(loaded, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
#endif
  if (!words.synthetic.empty() && hwloc_topology_set_synthetic(loaded, words.synthetic.c_str()) != 0)
    return argument_error(fmt::format("hwloc does not take the machine \"{}\"", printable(words.synthetic)));
  const bool has_xml = !words.xml.empty();
  if (has_xml && (words.xml.size() >= INT_MAX ||
                  hwloc_topology_set_xmlbuffer(loaded, words.xml.c_str(), static_cast<int>(words.xml.size()) + 1) != 0))
    return argument_error("hwloc does not take it (it reads what lstopo --of xml writes)");
  if (hwloc_topology_load(loaded) != 0)
    return has_xml ? argument_error("hwloc finds no machine in it (it reads what lstopo --of xml writes)")
                   : Error{ErrorKind::resource, fmt::format("hwloc cannot load the machine: {}", std::strerror(errno))};
  return topology;
}

/// Equal for equal objects in all processes: the number of the first hardware thread.
std::int32_t number_of(hwloc_obj_t object) { return hwloc_bitmap_first(object->cpuset); }

/// The largest cache around all of `cpus`; null when they share none.
hwloc_obj_t cache_around(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  hwloc_obj_t cache = nullptr;
  for (hwloc_obj_t object = hwloc_get_obj_covering_cpuset(topology, cpus); object != nullptr; object = object->parent)
    if (hwloc_obj_type_is_dcache(object->type)) cache = object;
  return cache;
}

/// The smallest NUMA node around `cpus`. Of several kinds of memory beside the same cores, the first.
hwloc_obj_t numa_around(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  hwloc_obj_t smallest = nullptr;
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    if (hwloc_bitmap_isincluded(cpus, node->cpuset) &&
        (smallest == nullptr || hwloc_bitmap_weight(node->cpuset) < hwloc_bitmap_weight(smallest->cpuset)))
      smallest = node;
  return smallest;
}

hwloc_obj_t package_around(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  for (hwloc_obj_t object = hwloc_get_obj_covering_cpuset(topology, cpus); object != nullptr; object = object->parent)
    if (object->type == HWLOC_OBJ_PACKAGE) return object;
  return nullptr;
}

std::uint64_t largest_cache(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  std::uint64_t bytes = 0;
  for (const hwloc_obj_type_t type : cache_types)
    for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr;)
      if (hwloc_bitmap_intersects(cpus, cache->cpuset)) bytes = std::max(bytes, cache->attr->cache.size);
  return bytes;
}

std::uint64_t largest_core_cache(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  std::uint64_t bytes = 0;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr;) {
    if (!hwloc_bitmap_isincluded(core->cpuset, cpus)) continue; // another process may use its other threads
    for (hwloc_obj_t object = core->parent; object != nullptr; object = object->parent)
      if (hwloc_obj_type_is_dcache(object->type) && hwloc_bitmap_isequal(object->cpuset, core->cpuset))
        bytes = std::max(bytes, object->attr->cache.size);
  }
  return bytes;
}

std::string counted(int count, const char* noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"); }

/// "2 packages, 4 NUMA nodes, 64 cores, 8 x 32 MiB L3"
std::string description(hwloc_topology_t topology) {
  std::string line;
  const auto append = [&](const std::string& part) { line += (line.empty() ? "" : ", ") + part; };
  const auto count = [&](hwloc_obj_type_t type) { return std::max(0, hwloc_get_nbobjs_by_type(topology, type)); };
  if (count(HWLOC_OBJ_PACKAGE) > 0) append(counted(count(HWLOC_OBJ_PACKAGE), "package"));
  if (count(HWLOC_OBJ_NUMANODE) > 1) append(counted(count(HWLOC_OBJ_NUMANODE), "NUMA node"));
  const int cores = count(HWLOC_OBJ_CORE), threads = count(HWLOC_OBJ_PU);
  if (cores > 0) append(counted(cores, "core"));
  if (threads != cores) append(counted(threads, "hardware thread"));
  for (int level = 5; level >= 2; --level) {
    const hwloc_obj_type_t type = cache_types[level - 2];
    if (count(type) == 0) continue;
    const std::uint64_t kibibytes = hwloc_get_obj_by_type(topology, type, 0)->attr->cache.size >> 10;
    const std::string size =
        kibibytes % 1024 == 0 ? fmt::format("{} MiB", kibibytes >> 10) : fmt::format("{} KiB", kibibytes);
    append(fmt::format("{}{} L{}", count(type) > 1 ? fmt::format("{} x ", count(type)) : "", size, level));
    break;
  }
  return line;
}

RankFacts place_of(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  RankFacts place;
  if (const hwloc_obj_t cache = cache_around(topology, cpus)) place.cache = number_of(cache);
  if (const hwloc_obj_t package = package_around(topology, cpus)) place.package = number_of(package);
  if (const hwloc_obj_t numa = numa_around(topology, cpus)) place.numa = static_cast<std::int32_t>(numa->os_index);
  return place;
}

/// The smallest part of a machine that has a PCI device and a network device, and all network devices in it.
struct Networks {
  hwloc_obj_t part = nullptr; ///< null: there are none
  std::vector<hwloc_obj_t> devices;
};
Networks networks_around(hwloc_topology_t topology, const std::string& pci_address) {
  std::vector<hwloc_obj_t> around; // the device, and what it is in, from the inside
  for (hwloc_obj_t part = hwloc_get_pcidev_by_busidstring(topology, pci_address.c_str()); part != nullptr;
       part = part->parent)
    around.push_back(part);
  std::size_t nearest = around.size();
  Networks found;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device)) != nullptr;) {
    const hwloc_obj_osdev_type_t kind = device->attr->osdev.type;
    if ((kind != HWLOC_OBJ_OSDEV_NETWORK && kind != HWLOC_OBJ_OSDEV_OPENFABRICS) || device->name == nullptr) continue;
    std::size_t distance = around.size();
    for (hwloc_obj_t part = device; part != nullptr && distance == around.size(); part = part->parent)
      distance = static_cast<std::size_t>(std::find(around.begin(), around.end(), part) - around.begin());
    if (distance > nearest || distance == around.size()) continue;
    if (distance < nearest) found.devices.clear();
    nearest = distance;
    found.part = around[nearest];
    found.devices.push_back(device);
  }
  return found;
}

/// Equal for equal devices in all processes: the address in one number. Of machines with so many PCI domains that it
/// has no room for them, the last digits.
std::int32_t number_on_pci(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& device) {
  return static_cast<std::int32_t>((device.domain & 0x7fffU) << 16 | unsigned{device.bus} << 8 |
                                   unsigned{device.dev} << 3 | unsigned{device.func});
}

} // namespace

Result<LocalFacts> place_in_machine(const MachineWords& words, std::span<const int> cpus) {
  auto loaded = load(words);
  if (!loaded) return loaded.error();
  hwloc_topology_t topology = loaded->get();
  const CpuSet bound(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (!bound) return Error{ErrorKind::resource, "no memory for a set of cores"};
  for (const int cpu : cpus)
    hwloc_bitmap_set(bound.get(), static_cast<unsigned>(cpu));
  hwloc_bitmap_and(bound.get(), bound.get(), hwloc_get_root_obj(topology)->cpuset);

  LocalFacts facts;
  facts.machine = description(topology);
  facts.last_level_cache = largest_cache(topology, bound.get());
  facts.core_cache = largest_core_cache(topology, bound.get());
  if (hwloc_bitmap_iszero(bound.get())) return facts; // Nothing is known of the binding.
  facts.place = place_of(topology, bound.get());
  return facts;
}

Result<std::vector<std::string>> networks_in_machine(const MachineWords& words, const std::string& pci_address) {
  auto loaded = load(words, true);
  if (!loaded) return loaded.error();
  std::vector<std::string> names;
  for (const hwloc_obj_t device : networks_around(loaded->get(), pci_address).devices)
    names.emplace_back(device->name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<DevicePlace> device_in_machine(const MachineWords& words, const std::string& pci_address) {
  auto loaded = load(words, true);
  if (!loaded) return loaded.error();
  hwloc_topology_t topology = loaded->get();
  DevicePlace place;
  place.address = pci_address;
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, pci_address.c_str());
  if (device == nullptr) return place;
  for (hwloc_obj_t part = device->parent; part != nullptr; part = part->parent)
    if (part->type == HWLOC_OBJ_BRIDGE && part->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
      place.bridge = number_on_pci(part->attr->bridge.upstream.pci); // the last is nearest to the processor
  const Networks near = networks_around(topology, pci_address);
  for (hwloc_obj_t card : near.devices) {
    if (near.part->parent == nullptr) break; // the whole machine: none is its own
    while (card != nullptr && card->type != HWLOC_OBJ_PCI_DEVICE)
      card = card->parent;
    if (card == nullptr) continue; // it is no card
    const std::int32_t number = number_on_pci(card->attr->pcidev);
    place.card = place.card < 0 ? number : std::min(place.card, number);
  }
  if (const hwloc_obj_t around = hwloc_get_non_io_ancestor_obj(topology, device)) {
    const RankFacts cores = place_of(topology, around->cpuset);
    place.numa = cores.numa;
    place.package = cores.package;
  }
  return place;
}

Result<std::vector<RankFacts>> cores_in_machine(const MachineWords& words) {
  auto loaded = load(words);
  if (!loaded) return loaded.error();
  hwloc_topology_t topology = loaded->get();
  const hwloc_obj_type_t kind = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::vector<RankFacts> cores;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, kind, core)) != nullptr;)
    cores.push_back(place_of(topology, core->cpuset));
  return cores;
}

} // namespace strata::topo

extern "C" __attribute__((visibility("default"))) bool
strata_cores_v1(const std::string& xml, std::vector<strata::topo::RankFacts>* cores, std::string* trouble) {
  auto found = strata::topo::cores_in_machine({"", xml});
  if (found)
    *cores = std::move(*found);
  else
    *trouble = found.error().message;
  return static_cast<bool>(found);
}

extern "C" __attribute__((visibility("default"))) bool
strata_networks_v1(const std::string& pci_address, std::vector<std::string>* names, std::string* trouble) {
  auto found = strata::topo::networks_in_machine({}, pci_address);
  if (found)
    *names = std::move(*found);
  else
    *trouble = found.error().message;
  return static_cast<bool>(found);
}

extern "C" __attribute__((visibility("default"))) bool
strata_device_place_v1(const std::string& pci_address, strata::topo::DevicePlace* place, std::string* trouble) {
  auto found = strata::topo::device_in_machine({}, pci_address);
  if (found)
    *place = std::move(*found);
  else
    *trouble = found.error().message;
  return static_cast<bool>(found);
}

extern "C" __attribute__((visibility("default"))) bool strata_topology_v1(strata::topo::LocalFacts* facts) {
  const auto cpus = strata::allowed_cpus();
  auto found = strata::topo::place_in_machine({}, cpus);
  if (found)
    *facts = std::move(*found);
  else
    facts->trouble = found.error().message;
  return static_cast<bool>(found);
}
