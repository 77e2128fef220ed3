// SPDX-License-Identifier: BSD-3-Clause
// Hierarchies by hand (STRATA_LEVELS): the first byte says for how many ranks. What is taken keeps the invariants of a
// hierarchy and can be drawn; what is not is refused with a reason.
#include "fuzz.h"
#include "topo/hierarchy.h"

using namespace strata;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<topo::RankFacts> facts(1 + data[0] % 64);
  const auto hierarchy = topo::hierarchy_by_hand(fuzz::text_of(data + 1, size - 1), facts);
  if (!hierarchy) {
    fuzz::require(!hierarchy.error().message.empty());
    return 0;
  }
  fuzz::require(static_cast<bool>(topo::check(*hierarchy)));
  fuzz::require(hierarchy->ranks == static_cast<std::int32_t>(facts.size()));
  fuzz::require(!topo::to_text(*hierarchy, {}).empty());
  return 0;
}
