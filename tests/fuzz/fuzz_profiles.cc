// SPDX-License-Identifier: BSD-3-Clause
// Profiles of hosts: what is taken is written in a form that is taken again and means the same, and makes a sound
// hierarchy; what is not is refused with the place and a reason.
#include "fuzz.h"
#include "tune/profile.h"

#include <algorithm>

using namespace strata;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto profile = fuzz::read_as_file(fuzz::text_of(data, size), tune::profile_from);
  if (!profile) return 0;
  fuzz::require(static_cast<bool>(tune::check(*profile)));

  // A rank on each of the first hosts.
  const std::size_t ranks = std::min<std::size_t>(profile->hosts.size(), 64);
  std::vector<topo::RankFacts> facts(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    facts[rank].memory_group = static_cast<std::int32_t>(rank);
  const auto hierarchy = tune::hierarchy_with(*profile, facts, std::span(profile->hosts).first(ranks));
  fuzz::require(hierarchy && static_cast<bool>(topo::check(*hierarchy)));
  return 0;
}
