// SPDX-License-Identifier: BSD-3-Clause
// What strata-info writes.
#include "base/text.h"
#include "base/written_file.h"
#include "tools/complaint.h"
#include "tools/info.h"

#include "config.h"
#ifdef HAVE_PUGIXML
#include "topo/drawing_svg.h"
#endif

#include <fmt/format.h>

#include <nlohmann/json.hpp>

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

#ifndef HAVE_PUGIXML
Error cannot_draw(const std::string& file) {
  return {ErrorKind::unsupported, fmt::format("cannot write {}: built without pugixml", printable(file))};
}
#endif

} // namespace

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
  return write_out(tool, "",
                   flags.as_json ? document.dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                                 : info_text(document));
}

} // namespace strata::tools
