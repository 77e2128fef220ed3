// SPDX-License-Identifier: BSD-3-Clause
#include "comm/device.h"

#include "topo/local_facts.h"

#include <algorithm>
#include <new>
#include <string_view>

namespace strata::comm {
namespace {

static_assert(std::string_view(device::switch_of_links) == topo::switch_of_links, "places pass on what drivers say");

/// CUDA writes addresses on PCI otherwise than Linux and hwloc.
std::string lower_case(std::string address) {
  std::transform(address.begin(), address.end(), address.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  return address;
}

} // namespace

std::map<std::string, Tally> Device::tallies() const {
  constexpr std::array<const char*, device_paths> names{"peer", "GPUDirect", "peer, through the host", "staged",
                                                        "staged for the MPI library"};
  std::map<std::string, Tally> rows;
  for (std::size_t path = 0; path < device_paths; ++path)
    if (const std::uint64_t calls = counts_[path].calls.load(std::memory_order_relaxed); calls > 0)
      rows[names[path]] = {calls, counts_[path].bytes.load(std::memory_order_relaxed)};
  return rows;
}

void Device::see(const void* buffer) noexcept {
  if (!in_use()) return;
  try {
    const auto memory = driver_->memory_of(buffer);
    if (memory && memory->kind == device::Kind::device) note_use(memory->device);
  } catch (const std::bad_alloc&) { // the call will look again
  }
}

const topo::DevicePlace& Device::place(const Options& options) {
  const std::lock_guard lock(place_mutex_);
  const std::int32_t device = used();
  if (const auto known = places_.find(device); known != places_.end()) return known->second;
  topo::DevicePlace place;
  if (const auto facts = device >= 0 ? driver_->facts(device) : device::Facts{}; facts && !facts->pci_address.empty()) {
    const std::string address = lower_case(facts->pci_address);
    if (auto found = topo::place_of_device(options, address)) place = std::move(*found);
    place.address = address;
    place.linked = driver_->linked_to(device);
  }
  return places_.emplace(device, std::move(place)).first->second;
}

std::string Device::new_trouble() {
  if (told_.load(std::memory_order_relaxed)) return {};
  std::string why = bounces_.why_not();
  if (why.empty() || told_.exchange(true)) return {};
  return why;
}

} // namespace strata::comm
