// SPDX-License-Identifier: BSD-3-Clause
#include "comm/device.h"

#include "device/vector.h"
#include "topo/local_facts.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

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
  constexpr std::array<const char*, device_paths> names{"peer", "GPUDirect", "staged", "staged for the MPI library"};
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

namespace {

/// Where no stream reaches both, through the host.
Status copy_by_pieces(device::Driver& driver, const device::Vector& to, std::byte* to_begin, const device::Vector& from,
                      const std::byte* from_begin, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 20;
  auto out = device::Carriers::make(driver, from), in = device::Carriers::make(driver, to);
  if (!out) return out.error();
  if (!in) return in.error();
  std::vector<std::byte> host(std::min(bytes, most));
  for (std::size_t done = 0, piece = 0; done < bytes; done += piece) {
    piece = std::min(most, bytes - done);
    const std::byte* source = from_begin + done;
    std::byte* const passage = host.data();
    if (from.on_device()) {
      if (const Status fetched = out->fetch(from, done, piece, passage); !fetched) return fetched;
      source = passage;
    }
    if (!to.on_device())
      std::memcpy(to_begin + done, source, piece);
    else if (const Status delivered = in->deliver(to, done, piece, source); !delivered)
      return delivered;
  }
  return ok();
}

} // namespace

Status copy_anywhere(Device* device, void* to, const void* from, std::size_t bytes) {
  device::Vector target, source;
  if (device != nullptr && device->in_use()) {
    if (const Status looked = target.look(device->driver(), to, bytes); !looked) return looked;
    if (const Status looked = source.look(device->driver(), from, bytes); !looked) return looked;
  }
  auto* const to_begin = static_cast<std::byte*>(to);
  const auto* const from_begin = static_cast<const std::byte*>(from);
  if (!target.on_device() && !source.on_device()) {
    std::memcpy(to, from, bytes);
    return ok();
  }
  if (!target.is_one_piece_on_device() || !source.is_for(target.device()))
    return copy_by_pieces(device->driver(), target, to_begin, source, from_begin, bytes);
  const auto stream = device->driver().make_stream(target.device());
  if (!stream) return stream.error();
  const device::StreamOn queue{target.device(), stream->get()};
  if (const Status enqueued = source.copy_out({&queue, 1}, 0, bytes, to_begin); !enqueued) return enqueued;
  return (*stream)->synchronise();
}

} // namespace strata::comm
