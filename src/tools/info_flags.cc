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
  CLI::App app("What strata is here: its build, the transports and options, and the topology of the job under mpirun.");
  prepare(app, tool);
  app.add_flag("--json", flags.as_json, "write all of it as a JSON document");
  auto* svg = app.add_option("--svg", flags.svg, "draw the topology of the job, or of --levels, into FILE");
  auto* schedule =
      app.add_option("--schedule", flags.schedule, "print a schedule, such as direct+ring, over the ranks of --levels");
  auto* levels = app.add_option("--levels", flags.levels, "the hierarchy, innermost first, as in STRATA_LEVELS: 4x2");
  svg->type_name("FILE");
  schedule->type_name("COMPOSITION")->needs(levels);
  levels->type_name("TREE");
  app.add_option("--rank", flags.rank, "print this rank's program only")
      ->type_name("RANK")
      ->needs(schedule)
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--verify", flags.verify, "prove the schedule too")->needs(schedule);
  app.add_flag("--measure", flags.measure, "measure the links between the nodes of the job first")->excludes(levels);
  app.add_flag("--waits", flags.waits, "what your processes on this node wait for inside strata, now")
      ->excludes(svg)
      ->excludes(levels);
  if (const auto status = parse(app, tool, count, arguments)) return status;
  if (!flags.levels.empty() && flags.schedule.empty() && flags.svg.empty())
    return complain(tool, "--levels needs --schedule or --svg; see strata-info --help", bad_usage);
  if (flags.waits) return write_out(tool, "", waits_text(flags.as_json));
  return show_levels(flags);
}

} // namespace strata::tools
