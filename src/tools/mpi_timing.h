// SPDX-License-Identifier: BSD-3-Clause
// What tools that time all-reduces have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace strata::tools {

int rank_in_world();
int ranks_in_world();

/// For what one rank alone meets, where the others would wait for it: says "TOOL: rank R: WHY" on standard error, and
/// ends the job with status 1.
[[noreturn]] void end_job(const std::string& tool, const std::string& why);

/// Memory at the begin of a page; null when there is none.
using Pages = std::unique_ptr<std::byte, decltype(&std::free)>;
Pages pages(std::size_t bytes);

/// Seconds of a clock that only goes forward.
double clock_seconds();

/// How many calls fill so many seconds, within bounds.
std::uint64_t calls_for(double seconds, double seconds_per_call, std::uint64_t fewest, std::uint64_t most);

/// The largest of all ranks' values, place by place; on rank 0.
std::vector<double> longest_of_all(const std::vector<double>& mine);

} // namespace strata::tools
