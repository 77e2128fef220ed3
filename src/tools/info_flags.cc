// SPDX-License-Identifier: BSD-3-Clause
// strata-info's command line, and what it answers without a look at the machine.
#include "tools/command_line.h"
#include "tools/info.h"

namespace strata::tools {
namespace {

constexpr const char* tool = "strata-info";

/// --schedule, or the drawing of --levels: what needs neither a job nor facts of this machine.
std::optional<int> show_levels(const InfoFlags& flags) {
  if (flags.levels.empty()) return std::nullopt;
  if (!flags.svg.empty()) {
    const auto hierarchy = hierarchy_of_levels(flags.levels);
    if (!hierarchy) return complain(tool, hierarchy.error().message, bad_usage);
    if (const Status drawn = draw(flags.svg, *hierarchy); !drawn) return complain(tool, drawn.error().message, 1);
  }
  if (flags.schedule.empty()) return 0;
  const auto text = schedule_text(flags);
  if (!text) return complain(tool, text.error().message, bad_usage);
  return write_out(tool, "", *text);
}

} // namespace

std::optional<int> parse(InfoFlags& flags, int count, char** arguments) {
  CommandLine line(
      tool, "What strata is here: its build, the transports and options, and the topology of the job under mpirun.");
  std::int64_t rank = flags.rank;
  line.flag("--json", flags.as_json, "write all of it as a JSON document");
  const auto svg = line.option("--svg", flags.svg, "FILE", "draw the topology of the job, or of --levels, into FILE");
  const auto schedule = line.option("--schedule", flags.schedule, "COMPOSITION",
                                    "print a schedule, such as direct+ring, over the ranks of --levels");
  const auto levels =
      line.option("--levels", flags.levels, "TREE", "the hierarchy, innermost first, as in STRATA_LEVELS: 4x2");
  schedule.needs(levels);
  line.number("--rank", rank, 0, INT32_MAX, "RANK", "print this rank's program only").needs(schedule);
  line.flag("--verify", flags.verify, "prove the schedule too").needs(schedule);
  line.flag("--measure", flags.measure, "measure the links between the nodes of the job first").excludes(levels);
  line.flag("--waits", flags.waits, "what your processes on this node wait for inside strata, now")
      .excludes(svg)
      .excludes(levels);
  if (const auto status = line.parse(count, arguments)) return status;
  flags.rank = static_cast<int>(rank);
  if (!flags.levels.empty() && flags.schedule.empty() && flags.svg.empty())
    return complain(tool, "--levels needs --schedule or --svg; see strata-info --help", bad_usage);
  if (flags.waits) return write_out(tool, "", waits_text(flags.as_json));
  return show_levels(flags);
}

} // namespace strata::tools
