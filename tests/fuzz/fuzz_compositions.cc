// SPDX-License-Identifier: BSD-3-Clause
// Compositions (STRATA_ALGORITHM, --schedule) over levels by hand: two lines, the levels of six ranks and the
// composition. What is taken is written in a form that is taken again, and its schedule is proved.
#include "fuzz.h"
#include "hier/composition.h"
#include "verify/verifier.h"

using namespace strata;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const auto end = text.find('\n');
  if (end == std::string::npos || size > 200) return 0;
  const std::vector<topo::RankFacts> facts(6);
  const auto hierarchy = topo::hierarchy_by_hand(text.substr(0, end), facts);
  if (!hierarchy) return 0;
  const auto composition = hier::composition_from(text.substr(end + 1), *hierarchy);
  if (!composition) {
    fuzz::require(!composition.error().message.empty());
    return 0;
  }
  fuzz::require(static_cast<bool>(hier::check(*composition, *hierarchy)));
  const std::string written = hier::to_text(*composition);
  const auto again = hier::composition_from(written, *hierarchy);
  fuzz::require(again && hier::to_text(*again) == written);
  const hier::AllReduce all_reduce(*hierarchy, *composition);
  std::vector<sched::Program> programs;
  for (int rank = 0; rank < 6; ++rank)
    programs.push_back(all_reduce.program(rank));
  fuzz::require(static_cast<bool>(verify::verify(programs, {})));
  return 0;
}
