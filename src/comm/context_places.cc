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

/// Buffers in device memory may come at any time: who had none when a size was decided is asked again, now and then.
void Context::expect_devices() {
  constexpr std::uint64_t first = 16; // calls; each next look comes after twice as many
  if (may_use_devices_ && options_.device_peer != DevicePeer::off && ranks_ > 1) next_look_ = first;
}

/// Before a call whose number all ranks know. Collective.
void Context::look_again(const Call& call, std::size_t bytes) {
  next_look_ = 2 * calls_;
  if (left_to_native_ || watch_.hopeless()) return;
  const auto steps = [&] {
    if (device_ != nullptr) note_device(call, bytes);
    look_for_devices();
  };
  if (Status ran = bootstrap_->run(steps); !ran) leave_all_to_native(std::move(ran).error());
}

/// Whether buffers in device memory were seen on any rank, and its ranks may reach each other's; and when all ranks
/// have some, where their devices lie. Collective.
void Context::look_for_devices() {
  if (!may_use_devices_ || options_.device_peer == DevicePeer::off) return;
  auto all = gather(*bootstrap_, static_cast<std::uint8_t>(device_ != nullptr && device_->used() >= 0));
  if (!all) return;
  some_use_devices_ = std::find(all->begin(), all->end(), 1) != all->end();
  const bool all_do = std::find(all->begin(), all->end(), 0) == all->end();
  note_users(std::move(*all));
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

/// Plans that were made before a rank passed its first buffer in device memory have no place for it there: every size
/// is decided anew, and gets plans that have.
void Context::note_users(std::vector<std::uint8_t> users) {
  constexpr std::uint32_t most_changes = 4; // what is made stays, in case a peer still uses it
  const bool is_first = users_.empty();
  if (users == users_ || (!is_first && changes_of_users_ == most_changes)) return;
  users_ = std::move(users);
  if (is_first) return;
  ++changes_of_users_;
  first_plan_ = plans_.size();
  if (options_.log_choice && rank_ == 0)
    log_line(fmt::format("{} ranks on {} nodes: {} of them work with devices by now; every size is decided anew",
                         ranks_, nodes(), std::count(users_.begin(), users_.end(), 1)));
  decide_anew();
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
