// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"
#include "tools/info.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata::tools {
namespace {

using nlohmann::json;

constexpr std::size_t widest_matrix = 32; // ranks

std::string text_of(const json& value, const char* without = "none") {
  return value.is_string() ? value.get<std::string>() : without;
}

void add_build(std::string& text, const json& document) {
  std::string libraries;
  for (const json& name : document["build"]["libraries"])
    libraries += (libraries.empty() ? "" : ", ") + name.get<std::string>();
  const json& machine = document["machine"];
  text += fmt::format("strata {}\n", text_of(document["version"]));
  text += fmt::format("  compiler   {}\n", text_of(document["build"]["compiler"]));
  text += fmt::format("  built with {}\n", libraries.empty() ? "no optional library" : libraries);
  text += fmt::format("  for MPI    {}\n", text_of(document["build"]["mpi"]));
  text += fmt::format("  preload    {}\n", text_of(document["preload"]));
  text += fmt::format("  profiles   {} (of the site)\n", text_of(document["build"]["site_profiles"]));
  text += fmt::format("  kernels    {}\n", text_of(document["kernels"]));
  const std::string name = text_of(machine["text"]), trouble = text_of(machine["trouble"]);
  text += fmt::format("  machine    {}{}usable cores: {}{}\n", name, name.empty() ? "" : "; ",
                      machine["usable_cores"].get<std::uint64_t>(), trouble.empty() ? "" : " (" + trouble + ")");
}

void add_modules(std::string& text, const json& modules) {
  text += "\nmodules\n";
  for (const json& row : modules)
    text += fmt::format("  {:<7} {:<24} {}\n", text_of(row["name"]), text_of(row["purpose"]),
                        text_of(row["path"], "not installed"));
}

void add_transports(std::string& text, const json& transports) {
  text += "\ntransports\n";
  for (const json& row : transports) {
    const std::string remark = text_of(row["remark"]);
    text += fmt::format("  {:<4} {}{}{}\n", text_of(row["name"]), row["usable"].get<bool>() ? "usable" : "not usable",
                        remark.empty() ? "" : ": ", remark);
  }
}

void add_accelerators(std::string& text, const json& facts) {
  text += "\naccelerators\n";
  if (facts["devices"].empty()) {
    const bool has_driver = facts["driver"].is_string();
    text += fmt::format("  none: {}\n", has_driver ? "the driver has no device" : text_of(facts["why_not"]));
    return;
  }
  std::size_t device = 0;
  for (const json& row : facts["devices"]) {
    text += fmt::format("  {} {}: ", text_of(facts["driver"]), device++);
    if (row.contains("trouble")) {
      text += text_of(row["trouble"]) + "\n";
      continue;
    }
    std::string peers;
    for (const json& peer : row["reaches"])
      peers += fmt::format("{}{}", peers.empty() ? "" : ", ", peer.get<int>());
    std::string place = text_of(row["pci_address"]);
    if (row["numa"].is_number()) place += fmt::format(", NUMA node {}", row["numa"].get<int>());
    if (row["networks"].is_array() && !row["networks"].empty())
      place += fmt::format(", near {}", fmt::join(row["networks"].get<std::vector<std::string>>(), ", "));
    if (row["links"].is_number()) place += fmt::format(", {} NVLinks up", row["links"].get<int>());
    text += fmt::format("{}, {}, {}, reaches {}\n", text_of(row["name"]),
                        format_bytes(row["bytes"].get<std::uint64_t>()), place, peers.empty() ? "no other" : peers);
  }
}

void add_options(std::string& text, const json& document) {
  std::size_t widths[] = {4, 5, 7};
  const char* const columns[] = {"name", "value", "default"};
  for (const json& row : document["options"])
    for (std::size_t i = 0; i < 3; ++i)
      widths[i] = std::max(widths[i], text_of(row[columns[i]]).size());
  const auto line = [&](const std::string& name, const std::string& value, const std::string& initial,
                        const std::string& origin, const std::string& remark) {
    text += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<11}  {}\n", name, widths[0], value, widths[1], initial, widths[2],
                        origin, remark);
  };
  text += "\noptions\n";
  line("name", "value", "default", "origin", "meaning (allowed)");
  for (const json& row : document["options"])
    line(text_of(row["name"]), text_of(row["value"]), text_of(row["default"]), text_of(row["origin"]),
         fmt::format("{} ({})", text_of(row["text"]), text_of(row["allowed"])));
  for (const json& complaint : document["complaints"])
    text += fmt::format("  {}\n", text_of(complaint));
}

void add_matrix(std::string& text, const json& rows) {
  std::size_t width = 4;
  for (const json& row : rows)
    for (const json& name : row)
      width = std::max(width, text_of(name).size());
  text += fmt::format("  {:>6}", "");
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    text += fmt::format(" {:>{}}", rank, width);
  text += "\n";
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    text += fmt::format("  {:>6}", rank);
    for (const json& name : rows[rank])
      text += fmt::format(" {:>{}}", text_of(name), width);
    text += "\n";
  }
}

void add_pairs(std::string& text, const json& rows) {
  if (rows.size() <= widest_matrix) {
    text += "\ntransports by pair of ranks\n";
    return add_matrix(text, rows);
  }
  std::map<std::string, std::size_t> pairs;
  for (const json& row : rows)
    for (const json& name : row)
      ++pairs[text_of(name)];
  text += "\npairs of ranks by transport\n";
  for (const auto& [name, count] : pairs)
    if (name != "self") text += fmt::format("  {:<4} {}\n", name, count / 2);
}

void add_job(std::string& text, const json& job) {
  if (job.is_null()) {
    text += "\njob\n  none: run under the launcher of the MPI library (mpirun -n 4 strata-info) to see its topology\n";
    return;
  }
  text += fmt::format("\njob: {} ranks", job["size"].get<int>());
  if (!job.contains("ranks")) {
    text += fmt::format("\n  strata does not serve it: {}\n", text_of(job["why_not"]));
    return;
  }
  text += fmt::format(" on {} {}, {}\n", job["nodes"].get<int>(), job["nodes"].get<int>() == 1 ? "node" : "nodes",
                      text_of(job["library"]));
  const std::string tree = topo::to_text(hierarchy_of(job), rank_labels(job), link_remarks(job));
  for (std::size_t begin = 0, end = 0; (end = tree.find('\n', begin)) != std::string::npos; begin = end + 1)
    text += "  " + tree.substr(begin, end + 1 - begin);
  text += fmt::format("  to a table: {}\n", text_of(job["machine"]));
  for (const std::string& line : link_lines(job))
    text += fmt::format("  {}\n", line);
  for (const json& note : job["notes"])
    text += fmt::format("  note: {}\n", text_of(note));
  add_pairs(text, job["transports_by_pair"]);
}

} // namespace

std::string info_text(const json& document) {
  std::string text;
  add_build(text, document);
  add_modules(text, document["modules"]);
  add_transports(text, document["transports"]);
  add_accelerators(text, document["accelerators"]);
  add_options(text, document);
  add_job(text, document["job"]);
  return text;
}

} // namespace strata::tools
