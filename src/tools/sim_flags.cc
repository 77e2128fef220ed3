// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"
#include "base/text.h"
#include "tools/command_line.h"
#include "tools/perf.h"
#include "tools/sim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace strata::tools {
namespace {

constexpr const char* tool = "strata-sim";
constexpr std::uint64_t most_slice = std::uint64_t{1} << 40, most_window = 1024;

/// MACHINE, and behind it the inside of a node where a file says that.
Result<std::string> machine_text_of(const SimWords& words) {
  std::string text = fmt::format("{}", fmt::join(words.machine, " "));
  if (words.hwloc.empty() && text.empty()) return argument_error("MACHINE is missing; see strata-sim --help");
  if (words.hwloc.empty()) return text;
  const auto inside = words_of_file(words.hwloc);
  if (!inside) return argument_error("--hwloc: " + inside.error().message);
  return text.empty() ? *inside : text + " " + *inside;
}

Status settle_machine(SimFlags& flags, const SimWords& words) {
  const auto whole = machine_text_of(words);
  if (!whole) return whole.error();
  const std::string& text = *whole;
  flags.machine_text = text;
  std::optional<tune::Profile> profile;
  if (!words.profile.empty()) {
    auto read = profile_in(words.profile);
    if (!read) return argument_error("--profile: " + read.error().message);
    profile = std::move(*read);
    flags.machine_text = fmt::format("profile={} {}", words.profile, text);
  }
  auto line = profile ? line_with_profile(*profile, text) : sim::machine_line_from(text);
  if (!line && !words.hwloc.empty())
    return argument_error(
        fmt::format("MACHINE, with the file's inside of a node '{}', {}", text, line.error().message));
  if (!line) return argument_error("MACHINE, " + line.error().message);
  std::int64_t places = 1;
  for (const sim::LineLevel& level : line->levels)
    places *= level.count;
  if (!words.ranks.empty()) {
    const auto ranks = parse_number(words.ranks);
    if (!ranks || *ranks < 1 || *ranks > static_cast<std::uint64_t>(places))
      return argument_error(
          fmt::format("--ranks {} is not allowed (1 to {}, the places of MACHINE)", printable(words.ranks), places));
    line->ranks = static_cast<std::int64_t>(*ranks);
  }
  if (!words.plan.empty()) {
    const auto rank = parse_number(words.plan);
    if (!rank || *rank >= static_cast<std::uint64_t>(line->ranks))
      return argument_error(fmt::format("--plan {} is not allowed (0 to {})", printable(words.plan), line->ranks - 1));
    flags.planned_rank = static_cast<std::int32_t>(*rank);
  } else if (line->ranks > most_simulated_ranks) {
    return argument_error(
        fmt::format("MACHINE has {} ranks; {} at most are simulated (see --ranks)", line->ranks, most_simulated_ranks));
  }
  const auto mapping = sim::mapping_from(words.mapping);
  if (!mapping) return argument_error("--mapping " + mapping.error().message);
  flags.mapping = words.mapping;
  flags.machine = profile ? machine_with_profile(*profile, *line, *mapping) : sim::machine_from(*line, *mapping);
  flags.hierarchy = words.flat ? topo::flat_hierarchy(sim::facts_of(flags.machine)) : sim::hierarchy_of(flags.machine);
  return ok();
}

Status settle_compositions(SimFlags& flags, const SimWords& words) {
  if (words.algorithm == "all") return ok();
  for (const std::string_view text : split(words.algorithm, ',')) {
    auto composition = hier::composition_from(std::string(trim(text)), flags.hierarchy);
    if (!composition) return argument_error("--algorithm: " + composition.error().message);
    flags.compositions.push_back(std::move(*composition));
  }
  return ok();
}

Status settle_sizes(SimFlags& flags, const SimWords& words) {
  auto sizes = sizes_from(words.bytes);
  if (!sizes) return argument_error("--bytes: " + sizes.error().message);
  for (const std::uint64_t bytes : *sizes)
    if (bytes % simulated_element_bytes != 0)
      return argument_error(
          fmt::format("--bytes: size {} is no multiple of the {} bytes of float32", bytes, simulated_element_bytes));
  flags.sizes = std::move(*sizes);
  if (!words.slice.empty()) {
    const auto slice = parse_bytes(words.slice);
    if (!slice || *slice < simulated_element_bytes || *slice > most_slice)
      return argument_error(fmt::format("--slice {} is not allowed ({} to 1024G bytes)", printable(words.slice),
                                        simulated_element_bytes));
    flags.slice = *slice;
  }
  if (!words.window.empty()) {
    const auto window = parse_number(words.window);
    if (!window || *window < 1 || *window > most_window)
      return argument_error(fmt::format("--window {} is not allowed (1 to {})", printable(words.window), most_window));
    flags.window = *window;
  }
  return ok();
}

} // namespace

Result<SimFlags> sim_flags_from(const SimWords& words) {
  SimFlags flags;
  Status settled = settle_machine(flags, words);
  if (settled) settled = settle_compositions(flags, words);
  if (settled) settled = settle_sizes(flags, words);
  if (!settled) return settled.error();
  flags.as_json = words.as_json;
  if (flags.planned_rank && (flags.compositions.size() > 1 || !words.trace.empty() || words.as_json))
    return argument_error(
        "--plan says in a table what one composition takes, or the one that is chosen: it takes neither "
        "several in --algorithm, nor --trace or --json");
  flags.trace_file = words.trace;
  if (!flags.trace_file.empty() && (flags.sizes.size() != 1 || flags.compositions.size() != 1))
    return argument_error("--trace shows one run: give one composition with --algorithm and one size with --bytes");
  return flags;
}

std::optional<int> parse(SimFlags& flags, int count, char** arguments) {
  CommandLine line(tool, "What all-reduces would take on a machine that is not here: a simulation of strata's "
                         "schedules.");
  SimWords words;
  line.words("machine", words.machine, "MACHINE",
             "levels, outermost first, such as 'rack:2(uplink=6GB/s) node:4(uplink=100Gbit/s, latency=2us) core:8'");
  line.option("--profile", words.profile, "FILE",
              "the nodes and what joins them, as strata-probe measured it; MACHINE is then the inside of a node");
  line.option("--hwloc", words.hwloc, "FILE",
              "the inside of a node, as lstopo --of xml writes it; MACHINE is then what is around it, or left out");
  line.option("--algorithm", words.algorithm, "COMPOSITION",
              "compositions such as direct+ring, innermost level first, separated by ','; or all (default)");
  line.option("--bytes", words.bytes, "LIST",
              "bytes of the vector: sizes such as 8,1K and ranges such as 4K:1M that double");
  line.option("--slice", words.slice, "N", "bytes of a slice; without, as strata would choose");
  line.option("--window", words.window, "N", "slices in flight; without, as strata would choose");
  line.option("--mapping", words.mapping, "HOW", "of ranks to places: slot (default), node, or random:SEED");
  line.flag("--flat", words.flat, "run over all ranks at once, as algorithms do that do not know the machine");
  line.option("--ranks", words.ranks, "N", "how many ranks; without, one for each place");
  line.option("--trace", words.trace, "FILE", "write what every core does, for Perfetto or chrome://tracing, to FILE");
  line.option("--plan", words.plan, "RANK", "do not simulate: say what RANK chooses and plans, and how long it takes");
  line.flag("--json", words.as_json, "write all of it as a JSON document");
  if (const auto status = line.parse(count, arguments)) return status;
  auto settled = sim_flags_from(words);
  if (!settled) return complain(tool, settled.error().message, bad_usage);
  flags = std::move(*settled);
  return std::nullopt;
}

} // namespace strata::tools
