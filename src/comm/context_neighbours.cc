// SPDX-License-Identifier: BSD-3-Clause
// Which ranks share memory with which, found by trying.
#include "comm/context.h"

#include <algorithm>

namespace strata::comm {

/// Who could map whose segment, by pairs of ranks; the same on all ranks.
class Context::MappedPairs {
public:
  explicit MappedPairs(std::size_t ranks) : row_bytes_((ranks + 7) / 8), row_(row_bytes_), table_(row_bytes_ * ranks) {}

  /// This rank could map that of `rank`.
  void add(std::size_t rank) { row_[rank / 8] = static_cast<std::uint8_t>(row_[rank / 8] | 1U << (rank % 8)); }
  /// Collective.
  Status share(Bootstrap& bootstrap) { return bootstrap.all_gather(row_.data(), table_.data(), row_bytes_); }

  bool one_way(std::size_t a, std::size_t b) const { return (table_[a * row_bytes_ + b / 8] >> (b % 8) & 1) != 0; }
  bool both_ways(std::size_t a, std::size_t b) const { return one_way(a, b) && one_way(b, a); }

private:
  std::size_t row_bytes_;
  std::vector<std::uint8_t> row_, table_; ///< a bit for each rank; all rows
};

Result<Context::MappedPairs> Context::map_neighbours(transport::shm::ShmTransport* memory) {
  const auto count = static_cast<std::size_t>(ranks_), self = static_cast<std::size_t>(rank_);
  MappedPairs pairs(count);
  for (std::size_t rank = 0; rank < count; ++rank)
    if (memory != nullptr && (rank == self || memory->maps(addresses_[rank].address))) pairs.add(rank);
  if (Status shared = pairs.share(*bootstrap_); !shared) return shared.error();
  return pairs;
}

/// Whether ranks of one machine do not share memory though both have some to share. The same on all ranks.
bool Context::machines_are_divided(const MappedPairs& pairs) const {
  const auto count = static_cast<std::size_t>(ranks_);
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = a + 1; b < count; ++b)
      if (may_be_handed(a, b) && !pairs.both_ways(a, b)) return true;
  return false;
}

bool Context::may_be_handed(std::size_t a, std::size_t b) const {
  return socket_spaces_[a] != 0 && socket_spaces_[a] == socket_spaces_[b] && !addresses_[a].address.empty() &&
         !addresses_[b].address.empty();
}

/// Ranks of this machine whose segments this rank could not open are asked for them.
Status Context::ask_for_segments(transport::shm::ShmTransport* memory, const MappedPairs& pairs) {
  const auto self = static_cast<std::size_t>(rank_);
  auto handover = std::make_unique<transport::shm::Handover>();
  auto names = gather_text(*bootstrap_, memory != nullptr ? handover->offer() : std::string());
  if (!names) return names.error();
  for (std::size_t rank = 0; rank < names->size(); ++rank)
    if (memory == nullptr || rank == self || pairs.one_way(self, rank) || !may_be_handed(self, rank))
      (*names)[rank].clear();
  const auto all_meet = [&] {
    return all_agree(true) ? ok() : Status(Error{ErrorKind::peer, "the ranks of a machine could not meet"});
  };
  if (memory != nullptr) memory->ask(*handover, addresses_, *names);
  if (Status met = all_meet(); !met) return met;
  if (memory != nullptr) memory->answer(*handover);
  if (Status met = all_meet(); !met) return met;
  if (memory != nullptr) memory->take(std::move(handover), addresses_, *names);
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

Status Context::find_neighbours() {
  transport::shm::ShmTransport* memory = process_.shared_memory(nullptr);
  if (memory != nullptr && !wants(memory->name())) memory = nullptr;
  auto pairs = map_neighbours(memory);
  if (pairs && machines_are_divided(*pairs)) {
    if (Status asked = ask_for_segments(memory, *pairs); !asked) return asked;
    pairs = map_neighbours(memory);
  }
  if (!pairs) return pairs.error();
  form_nodes(*pairs);

  const auto count = static_cast<std::size_t>(ranks_), self = static_cast<std::size_t>(rank_);
  std::vector<bool> here(count, false);
  std::size_t on_this_node = 0; // also those that share its cores but not its memory
  for (std::size_t rank = 0; rank < count; ++rank) {
    here[rank] = facts_[rank].memory_group == facts_[self].memory_group;
    on_this_node += here[rank] || hosts_[rank] == hosts_[self] ? 1 : 0;
  }
  if (on_this_node > process_.facts().usable_cores) crowding_ = engine::Crowding::crowded;
  if (Status linked = link_neighbours(memory, here); !linked) return linked;
  const bool one_node =
      std::all_of(facts_.begin(), facts_.end(), [](const auto& fact) { return fact.memory_group == 0; });
  return one_node ? ok() : link_between_nodes(here);
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
