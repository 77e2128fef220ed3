// SPDX-License-Identifier: BSD-3-Clause
// strata-info's command line and what it writes.
#include "base/text.h"
#include "base/written_file.h"
#include "tools/command_line.h"
#include "tools/info.h"

#include "config.h"
#ifdef HAVE_PUGIXML
#include "topo/drawing_svg.h"
#endif

#include <fmt/format.h>

#include <cstdio>

namespace strata::tools {
namespace {

using nlohmann::json;

constexpr const char* tool = "strata-info";

topo::LinkKind link_named(const std::string& name) {
  for (const topo::LinkKind link :
       {topo::LinkKind::shared_cache, topo::LinkKind::shared_memory, topo::LinkKind::uplink})
    if (name == to_text(link)) return link;
  return topo::LinkKind::network;
}

int write_out(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0 : 1;
}

#ifndef HAVE_PUGIXML
Error cannot_draw(const std::string& file) {
  return {ErrorKind::unsupported, fmt::format("cannot write {}: built without pugixml", printable(file))};
}
#endif

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
  return write_out(*text);
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
  if (flags.waits) return write_out(waits_text(flags.as_json));
  return show_levels(flags);
}

topo::Hierarchy hierarchy_of(const json& job) {
  topo::Hierarchy hierarchy;
  hierarchy.ranks = job["ranks"].get<std::int32_t>();
  for (const json& row : job["levels"]) {
    topo::Level level;
    level.name = row["name"].get<std::string>();
    level.link = link_named(row["link"].get<std::string>());
    level.group_of.resize(static_cast<std::size_t>(hierarchy.ranks));
    for (const json& group : row["groups"]) {
      for (const json& rank : group)
        level.group_of[rank.get<std::size_t>()] = level.groups;
      ++level.groups;
    }
    hierarchy.levels.push_back(std::move(level));
  }
  return hierarchy;
}

Status draw(const std::string& file, const topo::Hierarchy& hierarchy) {
#ifdef HAVE_PUGIXML
  return write_whole(file, topo::to_svg(hierarchy, {}));
#else
  static_cast<void>(hierarchy);
  return cannot_draw(file);
#endif
}

Status draw(const std::string& file, const json& job) {
#ifdef HAVE_PUGIXML
  return write_whole(file, topo::to_svg(hierarchy_of(job), rank_labels(job), link_remarks(job), link_lines(job)));
#else
  static_cast<void>(job);
  return cannot_draw(file);
#endif
}

int show(const InfoFlags& flags, const json& document) {
  const json& job = document["job"];
  if (!flags.svg.empty()) {
    if (job.is_null() || !job.contains("levels"))
      return complain(tool, "--svg draws a job of several ranks: run under mpirun, or give --levels", bad_usage);
    if (const Status drawn = draw(flags.svg, job); !drawn) return complain(tool, drawn.error().message, 1);
  }
  return write_out(flags.as_json ? document.dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                                 : info_text(document));
}

} // namespace strata::tools
