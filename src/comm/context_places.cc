// SPDX-License-Identifier: BSD-3-Clause
// Which ranks work with devices, and where these lie: when all do, levels inside nodes are those of the devices.
#include "comm/context.h"

#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::comm {
namespace {

/// "device (4 groups), node (1 group)"
std::string names_of(const topo::Hierarchy& hierarchy) {
  std::string names;
  for (const topo::Level& level : hierarchy.levels)
    names += fmt::format("{}{} ({} group{})", names.empty() ? "" : ", ", level.name, level.groups,
                         level.groups == 1 ? "" : "s");
  return names;
}

} // namespace

/// Which device this process works with shows in its buffers.
void Context::note_device(const Call& call, std::size_t bytes) {
  if (options_.device_peer != DevicePeer::off && device_->in_use() && device_->used() < 0)
    (void)uses_device(call, bytes);
}

/// Whether buffers in device memory were seen on any rank, and its ranks may reach each other's; and when all ranks
/// have some, where their devices lie. Collective.
void Context::look_for_devices() {
  if (!may_use_devices_ || options_.device_peer == DevicePeer::off) return;
  const auto all = gather(*bootstrap_, static_cast<std::uint8_t>(device_ != nullptr && device_->used() >= 0));
  if (!all) return;
  some_use_devices_ = std::find(all->begin(), all->end(), 1) != all->end();
  const bool all_do = std::find(all->begin(), all->end(), 0) == all->end();
  const bool levels_are_set = options_.reproducible || !options_.levels.empty() || !options_.algorithm.empty();
  if (!all_do || follows_devices_ || levels_are_set || ranks_ == 1) return;
  follows_devices_ = true;
  const auto texts = gather_text(*bootstrap_, to_text(device_->place(process_.options())));
  if (!texts) return;
  std::vector<topo::DevicePlace> places;
  for (const std::string& text : *texts) {
    auto place = topo::device_place_from(text);
    if (!place) return;
    places.push_back(std::move(*place));
  }
  follow_devices(places);
}

/// Where that gives other levels inside nodes, every size is decided anew. `places` are by rank.
void Context::follow_devices(const std::vector<topo::DevicePlace>& places) {
  const auto followed = [&](const tune::JobShape& job) {
    return tune::shape_of(topo::with_devices(job.hierarchy, facts_, places), facts_, usable_cores_);
  };
  tune::JobShape job = followed(situation_.job);
  if (topo::same_groups(job.hierarchy, situation_.job.hierarchy)) return;
  situation_.job = std::move(job);
  if (situation_.plain) {
    tune::JobShape plain = followed(*situation_.plain);
    tune::note_racks(plain, situation_.job);
    situation_.plain = std::move(plain);
  }
  if (options_.log_choice && rank_ == 0)
    log_line(fmt::format("{} ranks on {} nodes: all work with devices, and the levels are those of the devices: {}",
                         ranks_, nodes(), names_of(situation_.job.hierarchy)));
  decide_anew();
}

} // namespace strata::comm
