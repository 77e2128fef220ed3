// SPDX-License-Identifier: BSD-3-Clause
// Slots in device memory for a plan: every rank that works with a device makes some, those that read from it map them,
// and all of them agree on who could. What could not be done costs no more than that: payloads of that rank, or for
// that reader, go through the host.
#include "comm/context.h"

#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace strata::comm {

/// Called again and again by calls that are staged for it: takes no memory but for the line.
void Context::tell_trouble_with_peers(std::string_view why) {
  if (!options_.log_choice || !device_->first_trouble_with_peers()) return;
  try {
    log_line(fmt::format("rank {} does not reduce in device memory with all of its peers, the host is between them: {}",
                         rank_, why));
  } catch (const std::bad_alloc&) { // then there is no line
  }
}

void Context::tell_trouble_with_flags(const std::string& why) {
  if (options_.log_choice && device_->first_trouble_with_flags())
    log_line(
        fmt::format("rank {} has no flags for the devices of its peers, their hosts are between them: {}", rank_, why));
}

/// What the device's memory is to the transports; none: they shall not use it.
std::optional<MemoryKind> Context::device_networks() const {
  if (options_.device_direct == DeviceDirect::off) return std::nullopt;
  return device_->driver().kind_for_networks();
}

void Context::tell_of_flags() {
  if (options_.log_choice && device_->first_flags())
    log_line(fmt::format("rank {}: devices of its peers wait for flags of its own, no host is between them", rank_));
}

/// Null when this rank can have none, or has no use for them.
std::unique_ptr<PeerSlots> Context::make_slots(const engine::Plan& plan) {
  if (device_ == nullptr || options_.device_peer == DevicePeer::off || !device_->in_use()) return nullptr;
  const engine::DeviceNeeds needs = plan.device_needs(device_networks());
  if ((needs.slots == 0 && !needs.straight) || needs.inputs > device::Stream::most_inputs || device_->used() < 0)
    return nullptr;
  const bool wants_flags = options_.device_peer == DevicePeer::automatic && !device_->has_given_up_flags();
  const auto flags = wants_flags ? PeerSlots::Flags::wanted : PeerSlots::Flags::unwanted;
  const auto made = [&](const engine::DeviceNeeds& wanted) {
    return PeerSlots::make(*device_, device_->used(), wanted, plan.shape().window, flags);
  };
  const auto is_short = [](const auto& tried) { return !tried && tried.error().kind == ErrorKind::resource; };
  engine::DeviceNeeds less = needs;
  auto slots = made(needs);
  if (is_short(slots) && needs.straight) { // it takes less without landings
    tell_trouble_with_peers(slots.error().message);
    less = plan.device_needs(std::nullopt);
    if (less.slots == 0) return nullptr;
    slots = made(less);
  }
  if (is_short(slots) && less.leaves_the_node) { // and with all in one queue
    less.leaves_the_node = false;
    slots = made(less);
  }
  if (!slots) {
    tell_trouble_with_peers(slots.error().message);
    return nullptr;
  }
  if (!(*slots)->why_not_exported().empty()) tell_trouble_with_peers((*slots)->why_not_exported());
  if (!(*slots)->why_no_flags().empty()) tell_trouble_with_flags((*slots)->why_no_flags());
  return std::move(*slots);
}

std::vector<std::byte*> Context::map_slots(const engine::Plan& plan, PeerSlots& slots,
                                           const std::vector<std::string>& announced) {
  std::vector<std::byte*> mapped(announced.size());
  const std::vector<bool> waiters = waiters_among(announced);
  const bool sets_flags = std::find(waiters.begin(), waiters.end(), true) != waiters.end();
  for (const std::int32_t rank : plan.device_peers(sets_flags)) {
    const auto index = static_cast<std::size_t>(rank);
    if (announced[index].empty()) continue;
    const auto peer = slots.map(announced[index]);
    if (peer)
      mapped[index] = *peer;
    else
      tell_trouble_with_peers(peer.error().message);
  }
  return mapped;
}

/// By rank: whether its device's queue may wait for what this rank's tells it. Where ranks share a device, what waits
/// there would keep others from it; then the hosts say when a payload is there.
std::vector<bool> Context::waiters_among(const std::vector<std::string>& announced) const {
  std::vector<bool> alone(announced.size());
  std::vector<PeerSlots::Announced> of_node(announced.size());
  std::map<std::string_view, int> uses;
  for (std::size_t rank = 0; rank < announced.size(); ++rank) {
    if (facts_[rank].memory_group != facts_[static_cast<std::size_t>(rank_)].memory_group) continue;
    of_node[rank] = PeerSlots::parsed(announced[rank]);
    ++uses[of_node[rank].address];
  }
  const auto is_alone = [&](std::size_t rank) { return of_node[rank].waits && uses.at(of_node[rank].address) == 1; };
  if (!is_alone(static_cast<std::size_t>(rank_))) return alone;
  for (std::size_t rank = 0; rank < announced.size(); ++rank)
    alone[rank] = is_alone(rank);
  return alone;
}

/// Whether the flags of the `senders`, who have set them, come here. A queue that waits in vain is let go on.
bool Context::sees_flags(engine::Plan& plan, PeerSlots& slots, const std::vector<bool>& senders) {
  constexpr auto patience = std::chrono::seconds(2);
  const auto end = std::chrono::steady_clock::now() + patience;
  engine::Waiter waiter(bootstrap_->idle_hook(), crowding_, contention_between_nodes());
  bool seen = plan.await_tried_flags(senders) && slots.passed(0);
  while (!seen && slots.failure().empty() && std::chrono::steady_clock::now() < end) {
    waiter.step(crowding_ == engine::Crowding::crowded);
    seen = slots.passed(0);
  }
  if (seen) return true;
  tell_trouble_with_flags(!slots.failure().empty()
                              ? slots.failure()
                              : fmt::format("its device did not see in {} s what its peers wrote", patience.count()));
  slots.give_up();
  return false;
}

/// Collective, of ranks some of which may wait for flags. By rank, the `waiters` who have seen theirs, if this rank has
/// seen its own: whether a device sees what another one writes into its memory is not known before. `readers`: who has
/// mapped this rank's slots. Who is not `connected` has not said where its flags are.
Result<std::vector<bool>> Context::waiters_seen(engine::Plan& plan, PeerSlots* slots, const std::vector<bool>& readers,
                                                std::vector<bool> waiters, bool connected) {
  const auto count = static_cast<std::size_t>(ranks_);
  const bool tries = connected && std::find(waiters.begin(), waiters.end(), true) != waiters.end();
  if (!tries) waiters.assign(count, false);
  const bool sets = tries && plan.set_tried_flags(waiters);
  if (tries && !sets) tell_trouble_with_flags(slots->failure());
  const auto all_set = gather(*bootstrap_, static_cast<std::uint8_t>(sets));
  if (!all_set) return all_set.error();
  std::vector<bool> senders(count);
  for (std::size_t rank = 0; rank < count; ++rank)
    senders[rank] = readers[rank] && waiters[rank] && (*all_set)[rank] != 0;
  bool works = sets && sees_flags(plan, *slots, senders);
  if (tries && !works) device_->give_up_flags();
  if (tries) works = slots->forget_tried_flags() && works; // before anybody sets one in a call
  const auto all = gather(*bootstrap_, static_cast<std::uint8_t>(works));
  if (!all) return all.error();
  for (std::size_t rank = 0; rank < count; ++rank)
    waiters[rank] = works && waiters[rank] && (*all)[rank] != 0;
  return waiters;
}

/// Collective. Slots that neither a peer nor a network has a use for are given up.
Status Context::share_slots(engine::Plan& plan, std::unique_ptr<PeerSlots>& slots, bool plan_is_connected) {
  auto announced = gather_text(*bootstrap_, slots ? slots->announcement() : std::string());
  if (!announced) return announced.error();
  const auto count = static_cast<std::size_t>(ranks_);
  std::vector<std::byte*> mapped(count);
  if (slots) {
    mapped = map_slots(plan, *slots, *announced);
    const auto networks = slots->go_straight() ? device_networks() : std::nullopt;
    if (const Status connected = plan.connect_device(*slots, mapped, networks); !connected) {
      tell_trouble_with_peers(connected.error().message);
      mapped.assign(count, nullptr);
      (void)slots->leave();
      (void)plan.connect_device(*slots, mapped, std::nullopt); // which takes no memory
    }
  }
  const std::size_t row_bytes = (count + 7) / 8;
  std::vector<std::uint8_t> row(row_bytes), table(row_bytes * count);
  for (std::size_t rank = 0; rank < count; ++rank)
    if (mapped[rank] != nullptr) row[rank / 8] = static_cast<std::uint8_t>(row[rank / 8] | 1U << (rank % 8));
  if (const Status done = bootstrap_->all_gather(row.data(), table.data(), row_bytes); !done) return done.error();
  const auto self = static_cast<std::size_t>(rank_);
  std::vector<bool> readers(count);
  for (std::size_t rank = 0; rank < count; ++rank)
    readers[rank] = (table[rank * row_bytes + self / 8] >> (self % 8) & 1) != 0;
  std::vector<bool> waiters(count);
  if (slots) waiters = waiters_among(*announced);
  const auto waits = [](const std::string& text) { return PeerSlots::parsed(text).waits; };
  if (std::any_of(announced->begin(), announced->end(), waits)) {
    auto seen = waiters_seen(plan, slots.get(), readers, std::move(waiters), plan_is_connected);
    if (!seen) return seen.error();
    waiters = std::move(*seen);
  }
  return keep_useful_slots(plan, slots, mapped, readers, waiters);
}

Status Context::keep_useful_slots(engine::Plan& plan, std::unique_ptr<PeerSlots>& slots,
                                  const std::vector<std::byte*>& mapped, const std::vector<bool>& readers,
                                  const std::vector<bool>& waiters) {
  const bool reads = std::any_of(mapped.begin(), mapped.end(), [](const std::byte* peer) { return peer != nullptr; });
  const bool is_read = std::find(readers.begin(), readers.end(), true) != readers.end();
  if (slots) {
    plan.let_read(readers, waiters);
    if (plan.sets_flags()) tell_of_flags();
  }
  if (slots && (reads || is_read || plan.uses_device())) return ok();
  plan.disconnect_device();
  if (slots && slots->leave()) slots.reset(); // else they leave with the plan
  return ok();
}

} // namespace strata::comm
