// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/describe.h"

#include <nlohmann/json.hpp>

#include <set>

namespace strata::mpi {
namespace {

using nlohmann::json;

/// Texts come from the system too: what is no UTF-8 is replaced, never thrown at.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json groups_of(const topo::Level& level) {
  std::vector<std::vector<std::int32_t>> groups(static_cast<std::size_t>(level.groups));
  for (std::size_t rank = 0; rank < level.group_of.size(); ++rank)
    groups[static_cast<std::size_t>(level.group_of[rank])].push_back(static_cast<std::int32_t>(rank));
  return groups;
}

json levels_of(const topo::Hierarchy& hierarchy) {
  json levels = json::array();
  for (const topo::Level& level : hierarchy.levels)
    levels.push_back({{"name", level.name}, {"link", to_text(level.link)}, {"groups", groups_of(level)}});
  return levels;
}

json options_of(const Options& options) {
  json all = json::object();
  for (const OptionRow& row : option_table())
    all[row.name] = row.get(options);
  return all;
}

json tallies_of(const std::map<std::string, comm::Tally>& tallies, const char* counted) {
  json all = json::object();
  for (const auto& [name, tally] : tallies)
    all[name] = {{counted, tally.calls}, {"bytes", tally.bytes}};
  return all;
}

/// A candidate, in one node once for each kind of stores that may pay.
json ways_of(const tune::Candidate& candidate, const tune::Situation& situation, std::size_t bytes) {
  json ways = json::array();
  tune::Way way = tune::way_of(candidate);
  const std::vector<tune::Around> stores = tune::stores_to_try(situation, way.kind, bytes);
  if (situation.job.nodes > 1 || way.kind == tune::Candidate::Kind::native || stores.size() == 1)
    return json::array({to_text(way)});
  for (const tune::Around around : stores) {
    way.around = around;
    ways.push_back(to_text(way));
  }
  return ways;
}

json rows_of(const std::vector<double>& cells, std::size_t nodes) {
  json rows = json::array();
  for (std::size_t from = 0; from < nodes; ++from) {
    json row = json::array();
    for (std::size_t to = 0; to < nodes; ++to) {
      const double value = cells[from * nodes + to];
      row.push_back(value > 0 ? json(value) : json(nullptr));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace

std::string describe_pairs(const comm::Context& context) {
  const topo::LinkMatrix* const matrix = context.matrix();
  if (matrix == nullptr) return "{}";
  const auto nodes = static_cast<std::size_t>(matrix->nodes);
  return text_of({{"hosts", context.host_of_node()},
                  {"latency", rows_of(matrix->latency, nodes)},
                  {"bandwidth", rows_of(matrix->bandwidth, nodes)}});
}

std::string describe(const comm::Context& context, const comm::Process& process) {
  const std::vector<std::string>& hosts = context.hosts();
  return text_of({{"rank", context.rank()},
                  {"ranks", context.ranks()},
                  {"nodes", context.nodes()},
                  {"hosts", hosts},
                  {"levels", levels_of(context.hierarchy())},
                  {"transports", context.transport_by_rank()},
                  {"switches", context.switches()},
                  {"links", {{"origin", to_text(context.links().origin)}, {"path", context.links().path}}},
                  {"notes", context.notes()},
                  {"machine", context.machine_text()},
                  {"kernels", process.kernels().instruction_set},
                  {"options", options_of(context.options())}});
}

std::string describe_choice(const comm::Context& context, std::size_t bytes) {
  const tune::Choice choice = context.choice_for(bytes);
  const auto [low, high] = tune::bounds_of_class(tune::size_class(bytes));
  json runners_up = json::array();
  for (const tune::Candidate& candidate : choice.runners_up)
    runners_up.push_back({{"name", candidate.name()}, {"seconds", candidate.seconds}});
  // Candidate after candidate, in the words of strata-table(5).
  json ways = json::array(); // braces would make an object of a pair of texts
  ways.push_back(ways_of(choice.chosen, context.situation(), low));
  for (const tune::Candidate& candidate : choice.runners_up)
    ways.push_back(ways_of(candidate, context.situation(), low));
  return text_of({{"bytes", bytes},
                  {"low", low},
                  {"high", high},
                  {"chosen", choice.chosen.name()},
                  {"source", choice.source},
                  {"on_trial", context.on_trial(bytes)},
                  {"way", context.way_text(bytes)},
                  {"predicted_seconds", choice.chosen.seconds},
                  {"runners_up", runners_up},
                  {"ways", ways},
                  {"note", choice.note}});
}

std::string describe(const comm::Statistics& statistics) {
  return text_of({{"algorithms", tallies_of(statistics.by_algorithm, "calls")},
                  {"native", tallies_of(statistics.native_by_reason, "calls")},
                  {"levels", tallies_of(statistics.sent_by_level, "messages")},
                  {"transports", tallies_of(statistics.sent_by_transport, "messages")},
                  {"device", tallies_of(statistics.device_by_path, "calls")},
                  {"contexts", statistics.contexts},
                  {"segment_bytes", statistics.most_segment_bytes},
                  {"scratch_bytes", statistics.most_scratch_bytes},
                  {"message_bytes", statistics.most_message_bytes}});
}

} // namespace strata::mpi
