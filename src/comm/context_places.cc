// SPDX-License-Identifier: BSD-3-Clause
// Which ranks work with devices, and where these lie: when all do, levels inside nodes are those of the devices.
#include "comm/context.h"

#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

/// Which device this process works with shows in its buffers, and whether calls on this communicator have some there.
void Context::note_device(const Call& call, std::size_t bytes) {
  if (device_->in_use() && !device_use_.seen) (void)uses_device(call, bytes);
}

/// Buffers in device memory may come at any time: who had none when a size was decided is asked again, now and then.
void Context::expect_devices() {
  constexpr std::uint64_t first = 16; // calls; each next look comes after twice as many
  if (device_use_.possible && ranks_ > 1) next_look_ = first;
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

/// Which ranks pass buffers in device memory; and when all do, and may reach each other's, where their devices lie.
/// Collective.
void Context::look_for_devices() {
  if (!device_use_.possible) return;
  enum Use : std::uint8_t { here = 1, anywhere = 2 };
  std::uint8_t mine = device_use_.seen ? here : 0;
  if (device_ != nullptr && device_->used() >= 0) mine |= anywhere;
  const auto all = gather(*bootstrap_, mine);
  if (!all) return;
  const auto count = [&](Use use) {
    return static_cast<std::int32_t>(std::count_if(all->begin(), all->end(), [&](auto of) { return (of & use) != 0; }));
  };
  const DeviceUsers before = std::exchange(device_use_.users, DeviceUsers{count(here), count(anywhere)});
  situation_.on_devices = device_use_.users.here > 0;
  if (std::exchange(device_use_.was_asked, true)) follow_users(before);
  if (device_use_.users.here != ranks_) return;
  next_look_ = UINT64_MAX; // nothing new is to come
  // A table's ways, and what was set by hand, are for the levels that they were made for.
  if (device_use_.knows_places || ranks_ == 1 || options_.device_peer == DevicePeer::off || follows_table() ||
      options_.reproducible || !options_.levels.empty() || !options_.algorithm.empty())
    return;
  device_use_.knows_places = true;
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
/// is decided anew, and gets plans that have. What was made stays, in case a peer still uses it.
void Context::follow_users(const DeviceUsers& before) {
  constexpr std::uint32_t most_changes = 4; // and the one after which there can be no other
  const DeviceUsers& users = device_use_.users;
  if (users == before || users.here == 0) return;
  if (device_use_.changes >= most_changes && users.here < ranks_) return;
  ++device_use_.changes;
  if (options_.log_choice && rank_ == 0)
    log_line(fmt::format("{} ranks on {} nodes: {} of them work with devices by now; every size is decided anew",
                         ranks_, nodes(), users.here));
  decide_anew();
}

/// Where that gives other levels inside nodes, every size is decided anew; those of the cores stay as another way, for
/// calls in host memory too. `places` are by rank.
void Context::follow_devices(const std::vector<topo::DevicePlace>& places) {
  const auto followed = [&](const tune::JobShape& job) {
    return tune::shape_of(topo::with_devices(job.hierarchy, facts_, places), facts_, usable_cores_);
  };
  tune::JobShape job = followed(situation_.job);
  if (topo::same_groups(job.hierarchy, situation_.job.hierarchy)) return;
  if (situation_.plain) {
    tune::JobShape plain = followed(*situation_.plain);
    tune::note_racks(plain, job);
    situation_.plain = std::move(plain);
  } else {
    situation_.plain = std::move(situation_.job);
    plain_is_of_hosts_ = true;
  }
  situation_.job = std::move(job);
  if (options_.log_choice && rank_ == 0)
    log_line(fmt::format("{} ranks on {} nodes: all work with devices, and the levels are those of the devices: {}",
                         ranks_, nodes(), names_of(situation_.job.hierarchy)));
  decide_anew();
}

} // namespace strata::comm
