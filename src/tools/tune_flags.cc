// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"
#include "tools/command_line.h"
#include "tools/perf.h"
#include "tools/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace strata::tools {
namespace {

constexpr const char* tool = "strata-tune";

Status settle_sizes(TuneFlags& flags, const std::vector<std::string>& words) {
  auto sizes = sizes_from(words.empty() ? "8:64M" : fmt::format("{}", fmt::join(words, ",")));
  if (!sizes) return sizes.error();
  std::sort(sizes->begin(), sizes->end());
  // A row is for a class of sizes, and of one class one size is enough.
  const auto same_class = [](std::uint64_t a, std::uint64_t b) { return tune::size_class(a) == tune::size_class(b); };
  sizes->erase(std::unique(sizes->begin(), sizes->end(), same_class), sizes->end());
  constexpr std::uint64_t most = std::uint64_t{std::numeric_limits<int>::max()} * sizeof(float);
  for (const std::uint64_t bytes : *sizes)
    if (bytes % sizeof(float) != 0 || bytes > most)
      return argument_error(fmt::format("size {} is not allowed (a multiple of 4, {} at most)", bytes, most));
  flags.sizes = std::move(*sizes);
  return ok();
}

/// As a table writes them, each once and without the MPI library's own, which is measured in any case.
Status settle_ways(TuneFlags& flags) {
  std::vector<std::string> ways;
  for (const std::string& words : flags.ways) {
    const auto way = tune::way_from(words);
    if (!way)
      return argument_error(fmt::format("--way '{}' is not allowed: {}", printable(words), way.error().message));
    std::string text = to_text(*way);
    if (*way != tune::Way{} && std::find(ways.begin(), ways.end(), text) == ways.end()) ways.push_back(std::move(text));
  }
  if (ways.empty() && !flags.ways.empty())
    return argument_error("--way native is measured in any case; name another to compare it with");
  flags.ways = std::move(ways);
  return ok();
}

} // namespace

std::optional<int> parse(TuneFlags& flags, int count, char** arguments) {
  CommandLine line(tool, "Measures the ways to do an all-reduce of each size, the MPI library's own among them, and "
                         "writes the fastest as a table. Run it under mpirun.");
  std::vector<std::string> sizes;
  line.words("sizes", sizes, "SIZES",
             "bytes of the vector: sizes such as 8,1K and ranges such as 4K:1M that double; 8:64M without");
  line.option("-o,--output", flags.output, "FILE", "write the table to FILE, at once, instead of to standard output");
  line.flag("--force", flags.force, "replace files that are there");
  const auto all = line.flag("--all", flags.all, "measure all candidates, not only the best by prediction");
  line.several("--way", flags.ways, "WAY",
               "measure this way, such as 'direct+ring slice=384K', instead of those predicted; may come several times")
      .excludes(all);
  const auto by_itself = line.flag("--by-itself", flags.by_itself,
                                   "first let strata choose by itself, and tell how that compares with the best");
  line.number("--settle", flags.settling, 0.001, 3600, "SECONDS",
              "with --by-itself: that it may try ways for, 60 without")
      .needs(by_itself);
  line.option("--json", flags.json, "FILE", "write all times as JSON as well");
  line.number("--time", flags.seconds, 0.001, 3600, "SECONDS", "seconds for each contest of a size, 1 without");
  line.number("--total", flags.total_seconds, 0.001, 1e6, "SECONDS",
              "begin no other size after that many seconds, 600 without");
  if (const auto status = line.parse(count, arguments)) return status;
  if (const Status settled = settle_sizes(flags, sizes); !settled)
    return complain(tool, settled.error().message, bad_usage);
  if (const Status settled = settle_ways(flags); !settled) return complain(tool, settled.error().message, bad_usage);
  if (flags.force && flags.output.empty() && flags.json.empty())
    return complain(tool, "--force is for a file: --output or --json", bad_usage);
  if (!flags.json.empty() && flags.json == flags.output)
    return complain(tool, "--output and --json name one file; name two", bad_usage);
  return std::nullopt;
}

} // namespace strata::tools
