// SPDX-License-Identifier: BSD-3-Clause
// strata-info: what it knows is one JSON document; its text and its drawing are made from that.
//
// The program itself needs no MPI. Under a launcher it becomes its sibling that enters MPI (info_job.cc), which adds
// the part "job".
#pragma once

#include "topo/hierarchy.h"
#include "tune/profile.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace strata::tools {

struct InfoFlags {
  bool as_json = false;
  std::string svg;      ///< file for the drawing of the topology; empty: none
  std::string schedule; ///< composition to print; empty: none
  std::string levels;   ///< hierarchy of that schedule, as STRATA_LEVELS
  int rank = -1;        ///< print this rank's program only
  bool verify = false;  ///< prove the schedule too
  bool measure = false; ///< measure the links between the nodes of the job first
  bool waits = false;   ///< show what the processes of this node wait for, instead
};

/// Parses the command line; the exit status when the tool is to end now.
std::optional<int> parse(InfoFlags& flags, int count, char** arguments);

/// Version, build, modules, transports that can be used here, options: all but the job.
nlohmann::json installation_facts();

/// Writes the document to standard output as the flags want it, and draws its job. The exit status.
int show(const InfoFlags& flags, const nlohmann::json& document);

/// The document as text for a person.
std::string info_text(const nlohmann::json& document);

/// The hierarchy in a job as describe_context of strata_mpi.h gives it.
topo::Hierarchy hierarchy_of(const nlohmann::json& job);

/// The part "links" of a job whose links were measured: the numbers of each level and what is slow. `now` in seconds
/// since the epoch.
nlohmann::json links_facts(const tune::Profile& profile, const nlohmann::json& job, std::int64_t now);
/// What the tree of the job says of its groups, and its ranks: names, numbers, and what is slow.
topo::Remarks link_remarks(const nlohmann::json& job);
std::vector<std::string> rank_labels(const nlohmann::json& job);
/// What else there is to say of the links: when and by whom they were measured, what is slow, switches.
std::vector<std::string> link_lines(const nlohmann::json& job);

/// The programs of a schedule over the hierarchy that `levels` says, as text; with the proof's verdict if wanted.
Result<std::string> schedule_text(const InfoFlags& flags);

/// What the processes of this node that run with strata wait for.
std::string waits_text(bool as_json);

/// Draws a job, or a hierarchy by itself; the error says why the file could not be written.
Status draw(const std::string& file, const nlohmann::json& job);
Status draw(const std::string& file, const topo::Hierarchy& hierarchy);

/// The hierarchy that --levels says by itself, without a job: as many ranks as it names.
Result<topo::Hierarchy> hierarchy_of_levels(const std::string& levels);

} // namespace strata::tools
