// SPDX-License-Identifier: BSD-3-Clause
// Which ranks share memory with which, found by trying.
#include "comm/context.h"

#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata::comm {

/// Who could map whose segment, by pairs of ranks; the same on all ranks.
class Context::MappedPairs {
public:
  explicit MappedPairs(std::size_t ranks)
      : ranks_(ranks), row_bytes_((ranks + 8) / 8), row_(row_bytes_), table_(row_bytes_ * ranks) {}

  /// This rank could map that of `rank`.
  void add(std::size_t rank) { row_[rank / 8] = static_cast<std::uint8_t>(row_[rank / 8] | 1U << (rank % 8)); }
  /// This rank had no room for one that it may map.
  void add_shortage() { add(ranks_); }
  /// Collective.
  Status share(Bootstrap& bootstrap) { return bootstrap.all_gather(row_.data(), table_.data(), row_bytes_); }

  bool one_way(std::size_t a, std::size_t b) const { return (table_[a * row_bytes_ + b / 8] >> (b % 8) & 1) != 0; }
  bool both_ways(std::size_t a, std::size_t b) const { return one_way(a, b) && one_way(b, a); }
  bool shortage(std::size_t rank) const { return one_way(rank, ranks_); }

private:
  std::size_t ranks_, row_bytes_;
  std::vector<std::uint8_t> row_, table_; ///< a bit for each rank; all rows
};

/// `shortage`: why this rank has no room for a segment that it may map; empty: it has.
Result<Context::MappedPairs> Context::map_neighbours(transport::shm::ShmTransport* memory, std::string& shortage) {
  const auto count = static_cast<std::size_t>(ranks_), self = static_cast<std::size_t>(rank_);
  MappedPairs pairs(count);
  for (std::size_t rank = 0; rank < count && memory != nullptr; ++rank) {
    const Status mapped = rank == self ? ok() : memory->map(addresses_[rank].address);
    if (mapped)
      pairs.add(rank);
    else if (mapped.error().kind == ErrorKind::resource)
      shortage = mapped.error().message;
  }
  if (!shortage.empty()) pairs.add_shortage();
  if (Status shared = pairs.share(*bootstrap_); !shared) return shared.error();
  return pairs;
}

/// The ranks of each socket space that have memory to share, ascending. The same on all ranks.
std::vector<std::vector<std::size_t>> Context::socket_spaces() const {
  std::map<std::uint64_t, std::vector<std::size_t>> by_space;
  for (std::size_t rank = 0; rank < socket_space_.size(); ++rank)
    if (socket_space_[rank] != 0 && !addresses_[rank].address.empty()) by_space[socket_space_[rank]].push_back(rank);
  std::vector<std::vector<std::size_t>> spaces;
  for (auto& [space, members] : by_space)
    spaces.push_back(std::move(members));
  return spaces;
}

/// Ranks of one socket space that could not open each other's segments ask for them, some at a time: the kernel bounds
/// how many files of a user are on their way at once (unix(7), ETOOMANYREFS). What fails costs only that these ranks
/// exchange messages.
Status Context::ask_for_segments(transport::shm::ShmTransport* memory, const MappedPairs& pairs,
                                 const std::vector<std::vector<std::size_t>>& spaces, std::string& shortage) {
  constexpr std::size_t most_files = 256;
  const auto self = static_cast<std::size_t>(rank_);
  std::size_t largest = 0;
  const std::vector<std::size_t>* mine = nullptr;
  for (const auto& members : spaces) {
    largest = std::max(largest, members.size());
    if (memory != nullptr && std::find(members.begin(), members.end(), self) != members.end()) mine = &members;
  }
  auto handover = std::make_unique<transport::shm::Handover>();
  const auto names = gather_text(*bootstrap_, mine != nullptr ? handover->offer() : std::string());
  if (!names) return names.error();
  const std::size_t at_a_time = std::max<std::size_t>(1, most_files / largest);
  for (std::size_t first = 1; first < largest; first += at_a_time) {
    std::vector<std::string> asked(names->size()); // by rank; empty: not this time
    if (mine != nullptr) {
      const auto place = static_cast<std::size_t>(std::find(mine->begin(), mine->end(), self) - mine->begin());
      for (std::size_t distance = first; distance < std::min(first + at_a_time, mine->size()); ++distance) {
        const std::size_t rank = (*mine)[(place + distance) % mine->size()];
        if (!pairs.one_way(self, rank)) asked[rank] = (*names)[rank];
      }
    }
    if (mine != nullptr) memory->ask(*handover, addresses_, asked);
    if (!all_agree(true)) break;
    if (mine != nullptr) memory->answer(*handover);
    if (!all_agree(true)) break;
    if (mine == nullptr) continue;
    if (const Status taken = memory->take(*handover, addresses_, asked); !taken) shortage = taken.error().message;
  }
  if (mine != nullptr) memory->keep(std::move(handover));
  return ok();
}

// "Could map it and read its nonce" need not be mutual or transitive (one container may see another's processes, but
// not the reverse), so every rank gets the whole table and forms the same groups: each rank joins the first group
// all of whose members it shares memory with.
void Context::form_nodes(const MappedPairs& pairs) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t rank = 0; rank < facts_.size(); ++rank) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& members) {
      return std::all_of(members.begin(), members.end(), [&](std::size_t one) { return pairs.both_ways(rank, one); });
    });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(rank);
    facts_[rank].memory_group = static_cast<std::int32_t>(group - groups.begin());
  }
}

/// Where a rank has no room, it would exchange messages with ranks that are beside it: a program so short of memory is
/// better off with what its MPI library has in place already. The same on all ranks.
Status Context::check_room(const MappedPairs& pairs, const std::string& shortage) const {
  if (!shortage.empty() && options_.log_choice) log_line(fmt::format("rank {}: {}", rank_, shortage));
  if (!bootstrap_->has_native()) return ok();
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank)
    if (pairs.shortage(rank) && std::count(hosts_.begin(), hosts_.end(), hosts_[rank]) > 1)
      return Error{ErrorKind::resource, fmt::format("rank {} has no room for the shared memory of its node", rank)};
  return ok();
}

Status Context::find_neighbours() {
  Error why_not;
  transport::shm::ShmTransport* memory = process_.shared_memory(&why_not);
  const bool may_share = wants("shm") || wants("loop");
  std::string shortage = may_share && memory == nullptr && why_not.kind == ErrorKind::resource ? why_not.message : "";
  if (memory != nullptr && !wants(memory->name())) memory = nullptr;
  auto pairs = map_neighbours(memory, shortage);
  const auto is_divided = [&](const std::vector<std::size_t>& members) {
    return std::any_of(members.begin(), members.end(), [&](std::size_t one) {
      return std::any_of(members.begin(), members.end(),
                         [&](std::size_t other) { return one != other && !pairs->one_way(one, other); });
    });
  };
  const auto spaces = socket_spaces();
  if (pairs && may_share && std::any_of(spaces.begin(), spaces.end(), is_divided)) {
    if (Status asked = ask_for_segments(memory, *pairs, spaces, shortage); !asked) return asked;
    pairs = map_neighbours(memory, shortage);
  }
  if (!pairs) return pairs.error();
  if (Status room = check_room(*pairs, shortage); !room) return room;
  form_nodes(*pairs);

  count_cores();
  const auto count = static_cast<std::size_t>(ranks_), self = static_cast<std::size_t>(rank_);
  std::vector<bool> here(count, false);
  for (std::size_t rank = 0; rank < count; ++rank)
    here[rank] = facts_[rank].memory_group == facts_[self].memory_group;
  if (Status linked = link_neighbours(memory, here); !linked) return linked;
  const bool one_node =
      std::all_of(facts_.begin(), facts_.end(), [](const auto& fact) { return fact.memory_group == 0; });
  return one_node ? ok() : link_between_nodes(here);
}

/// Of each node, by what all ranks know alike; and whether those around this rank are too many for their cores.
void Context::count_cores() {
  std::map<std::int32_t, std::vector<CoreShare>> nodes;
  std::vector<CoreShare> around; // also those that share its cores but not its memory
  const auto self = static_cast<std::size_t>(rank_);
  for (std::size_t rank = 0; rank < facts_.size(); ++rank) {
    nodes[facts_[rank].memory_group].push_back(core_shares_[rank]);
    if (facts_[rank].memory_group == facts_[self].memory_group || hosts_[rank] == hosts_[self])
      around.push_back(core_shares_[rank]);
  }
  std::map<std::int32_t, std::uint32_t> cores;
  for (const auto& [node, shares] : nodes)
    cores.emplace(node, cores_together(shares));
  for (const topo::RankFacts& place : facts_)
    usable_cores_.push_back(cores.at(place.memory_group));
  if (around.size() > cores_together(around)) crowding_ = engine::Crowding::crowded;
}

void Context::tell_of_contention() {
  told_of_contention_ = true;
  if (!options_.log_choice || crowding_ == engine::Crowding::crowded) return;
  process_.say_once(
      fmt::format("on {}, others than the ranks of its node want the core of a rank; it gives the core up "
                  "while it waits for other nodes",
                  hosts_[static_cast<std::size_t>(rank_)]));
}

Status Context::link_neighbours(transport::shm::ShmTransport* memory, const std::vector<bool>& here) {
  route_.assign(here.size(), 0);
  transport_names_.assign(here.size(), "self");
  if (memory == nullptr) {
    if (all_agree(true)) return ok();
    return Error{ErrorKind::resource, "another rank could not link to its node"};
  }
  auto links = memory->link_neighbours(addresses_, rank_, here);
  if (!all_agree(static_cast<bool>(links)))
    return Error{ErrorKind::resource, links ? "another rank could not link to its node" : links.error().message};
  neighbours_ = std::move(*links);
  all_links_.push_back(neighbours_.get());
  link_names_.push_back(memory->name());
  for (std::size_t rank = 0; rank < here.size(); ++rank)
    if (here[rank] && rank != static_cast<std::size_t>(rank_)) transport_names_[rank] = memory->name();
  return ok();
}

} // namespace strata::comm
