// SPDX-License-Identifier: BSD-3-Clause
// Schedules as text, without a job: strata-info --schedule direct+ring --levels 4x2.
#include "base/text.h"
#include "hier/composition.h"
#include "tools/info.h"
#include "verify/verifier.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::tools {
namespace {

constexpr std::uint64_t most_ranks = 4096; // to print or to draw

/// How many ranks a text for STRATA_LEVELS is about: the product of its factors, or one more than the highest rank.
Result<std::uint64_t> ranks_in(const std::string& levels) {
  const bool factors = levels.find_first_of(",|/-") == std::string::npos;
  std::uint64_t product = 1, highest = 0, number = 0;
  bool in_number = false;
  for (const char c : levels + " ") {
    if (c >= '0' && c <= '9') {
      number = std::min(number * 10 + static_cast<std::uint64_t>(c - '0'), most_ranks + 1);
      in_number = true;
    } else if (in_number) {
      product = std::min(product * number, most_ranks + 1);
      highest = std::max(highest, number);
      number = 0;
      in_number = false;
    }
  }
  const std::uint64_t ranks = factors ? product : highest + 1;
  if (ranks >= 1 && ranks <= most_ranks) return ranks;
  return argument_error(fmt::format("--levels {} is about no ranks, or more than {}", printable(levels), most_ranks));
}

std::string verdict(const hier::AllReduce& schedule, int ranks) {
  std::vector<sched::Program> programs;
  for (int rank = 0; rank < ranks; ++rank)
    programs.push_back(schedule.program(rank));
  const Status proven = verify::verify(programs, {});
  return proven ? "verified: right for every timing, in place too, the same bits on all ranks\n"
                : fmt::format("refused by the verifier: {}\n", proven.error().message);
}

} // namespace

Result<topo::Hierarchy> hierarchy_of_levels(const std::string& levels) {
  const auto ranks = ranks_in(levels);
  if (!ranks) return ranks.error();
  const std::vector<topo::RankFacts> facts(*ranks);
  auto hierarchy = topo::hierarchy_by_hand(levels, facts);
  if (!hierarchy) return argument_error("--levels: " + hierarchy.error().message);
  return hierarchy;
}

Result<std::string> schedule_text(const InfoFlags& flags) {
  const auto hierarchy = hierarchy_of_levels(flags.levels);
  if (!hierarchy) return hierarchy.error();
  const auto composition = hier::composition_from(flags.schedule, *hierarchy);
  if (!composition) return argument_error("--schedule: " + composition.error().message);
  if (const Status fits = hier::check(*composition, *hierarchy); !fits)
    return argument_error("--schedule: " + fits.error().message);
  if (flags.rank >= hierarchy->ranks)
    return argument_error(fmt::format("--rank {}: there are ranks 0 to {}", flags.rank, hierarchy->ranks - 1));
  const hier::AllReduce schedule(*hierarchy, *composition);
  std::string text =
      fmt::format("{} over {} ranks\n{}", hier::to_text(*composition), hierarchy->ranks, topo::to_text(*hierarchy, {}));
  for (int rank = 0; rank < hierarchy->ranks; ++rank)
    if (flags.rank < 0 || rank == flags.rank) text += "\n" + sched::to_text(schedule.program(rank));
  if (flags.verify) text += "\n" + verdict(schedule, hierarchy->ranks);
  return text;
}

} // namespace strata::tools
