// SPDX-License-Identifier: BSD-3-Clause
#include "topo/device_place.h"

#include "base/text.h"
#include "topo/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

namespace strata::topo {
namespace {

/// Sets of things that are joined one by one (union-find).
class Islands {
public:
  std::size_t number_of(std::int32_t machine, const std::string& address) {
    const auto [known, is_new] = numbers_.try_emplace({machine, address}, parent_.size());
    if (is_new) parent_.push_back(parent_.size());
    return known->second;
  }
  void join(std::size_t one, std::size_t other) { parent_[root_of(one)] = root_of(other); }
  std::size_t root_of(std::size_t one) {
    while (parent_[one] != one)
      one = parent_[one] = parent_[parent_[one]];
    return one;
  }

private:
  std::map<std::pair<std::int32_t, std::string>, std::size_t> numbers_;
  std::vector<std::size_t> parent_;
};

/// By rank, the lowest rank whose device direct links join to its own; -1 in machines where there is no such link. A
/// device that no rank works with passes nothing on.
std::vector<std::int32_t> islands_of(std::span<const RankFacts> facts, std::span<const DevicePlace> places) {
  Islands islands;
  std::set<std::pair<std::int32_t, std::string>> known; // what passes vectors on, by machine
  std::set<std::int32_t> machines;                      // that have links
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    known.emplace(facts[rank].memory_group, places[rank].address);
    known.emplace(facts[rank].memory_group, switch_of_links);
  }
  const auto device_of = [&](std::size_t rank) {
    return islands.number_of(facts[rank].memory_group, places[rank].address);
  };
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    for (const std::string& end : places[rank].linked) {
      const std::int32_t machine = facts[rank].memory_group;
      if (known.count({machine, end}) == 0) continue;
      islands.join(device_of(rank), islands.number_of(machine, end));
      machines.insert(machine);
    }
  std::map<std::size_t, std::int32_t> lowest; // by root
  std::vector<std::int32_t> island(places.size(), -1);
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (machines.count(facts[rank].memory_group) != 0 && !places[rank].address.empty())
      island[rank] =
          lowest.try_emplace(islands.root_of(device_of(rank)), static_cast<std::int32_t>(rank)).first->second;
  return island;
}

/// By rank, the lowest rank of its machine with the same device; -1 where the address is not known.
std::vector<std::int32_t> devices_of(std::span<const RankFacts> facts, std::span<const DevicePlace> places) {
  std::map<std::pair<std::int32_t, std::string>, std::int32_t> lowest;
  std::vector<std::int32_t> device(places.size(), -1);
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (!places[rank].address.empty())
      device[rank] =
          lowest.try_emplace({facts[rank].memory_group, places[rank].address}, static_cast<std::int32_t>(rank))
              .first->second;
  return device;
}

/// By rank, a number of its place, or of that of its island's first rank.
std::vector<std::int32_t> numbers_of(std::int32_t DevicePlace::*number, std::span<const DevicePlace> places,
                                     std::span<const std::int32_t> island) {
  std::vector<std::int32_t> numbers;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    numbers.push_back(places[island[rank] < 0 ? rank : static_cast<std::size_t>(island[rank])].*number);
  return numbers;
}

} // namespace

std::string to_text(const DevicePlace& place) {
  return fmt::format("{} {} {} {} {} {}", place.address, place.bridge, place.card, place.numa, place.package,
                     fmt::join(place.linked.begin(), place.linked.end(), ","));
}

std::optional<DevicePlace> device_place_from(const std::string& text) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() != 6) return std::nullopt;
  DevicePlace place;
  place.address = words[0];
  const std::array<std::int32_t*, 4> numbers{&place.bridge, &place.card, &place.numa, &place.package};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view word = words[i + 1];
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), *numbers[i]);
    if (failed != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  }
  if (!words[5].empty())
    for (const std::string_view address : split(words[5], ','))
      place.linked.emplace_back(address);
  return place;
}

Hierarchy with_devices(const Hierarchy& hierarchy, std::span<const RankFacts> facts,
                       std::span<const DevicePlace> places) {
  if (hierarchy.levels.empty()) return hierarchy;
  const std::vector<std::int32_t> island = islands_of(facts, places);
  std::vector<std::int64_t> keys;
  for (const RankFacts& fact : facts)
    keys.push_back(fact.memory_group);
  std::vector<Level> outwards_in{level_of("node", keys)};
  const auto add = [&](const char* name, const std::vector<std::int32_t>& numbers) {
    if (Level level = level_inside(name, numbers, outwards_in.front(), outwards_in.back()); level.groups > 0)
      outwards_in.push_back(std::move(level));
  };
  add("nvlink", island);
  add("package", numbers_of(&DevicePlace::package, places, island));
  add("numa", numbers_of(&DevicePlace::numa, places, island));
  add("card", numbers_of(&DevicePlace::card, places, island));
  add("bridge", numbers_of(&DevicePlace::bridge, places, island));
  add("device", devices_of(facts, places));
  std::vector<Level> levels = finer_first(std::move(outwards_in));
  for (Level& level : levels)
    level.link = LinkKind::shared_memory;
  std::copy_if(hierarchy.levels.begin(), hierarchy.levels.end(), std::back_inserter(levels),
               [](const Level& level) { return between_nodes(level.link); });
  return nested(hierarchy.ranks, std::move(levels));
}

} // namespace strata::topo
