// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"
#include "tools/perf.h"

#include "config.h"

#include <fmt/format.h>

namespace strata::tools {
namespace {

using nlohmann::json;

const char* name_of(Pace pace) { return pace == Pace::barrier ? "barrier" : "back to back"; }

std::string microseconds(double seconds) {
  const double value = seconds * 1e6;
  return fmt::format("{:.{}f}", value, value < 100 ? 2 : value < 10000 ? 1 : 0);
}

/// "2.41", "118": as many digits as tell something.
std::string times(double ratio) { return fmt::format("{:.{}f}", ratio, ratio < 100 ? 2 : 0); }

json spread_json(const Spread& spread) {
  return {{"low", spread.low}, {"median", spread.median}, {"high", spread.high}};
}

} // namespace

std::string heading(const PerfFlags& flags, const PerfRun& run) {
  std::string text =
      fmt::format("# strata-perf {}: allreduce, {} {}{}, {} ranks on {} {}, {}, {}\n", PACKAGE_VERSION,
                  type::name_of(flags.element), type::name_of(flags.operation), flags.in_place ? " in place" : "",
                  run.ranks, run.nodes, run.nodes == 1 ? "node" : "nodes", name_of(flags.pace), run.library);
  if (!run.memory.empty())
    text += fmt::format("# vectors in {}{}\n", run.memory,
                        run.native_staged ? "; native: copied to the host's memory and back" : "");
  if (flags.floor && run.flag_seconds > 0)
    text += fmt::format("# a flag from one rank to another of its node: {} us\n", microseconds(run.flag_seconds));
  text += fmt::format("#{:>9} {:>11} {:>11} {:>7} {:>13}", "bytes", "native us", "strata us", "ratio", "10-90%");
  if (flags.floor) text += fmt::format(" {:>10} {:>11}", "copy us", "exchange us");
  if (flags.reproducible) text += fmt::format(" {:>12}", "reproducible");
  return text + fmt::format(" {:>6}  {}\n", "errors", "strata ran");
}

std::string line_of(const PerfFlags& flags, const PerfRow& row) {
  std::string text = fmt::format("{:>10} {:>11} {:>11} {:>7} {:>13}", format_bytes(row.bytes),
                                 microseconds(row.native.median), microseconds(row.strata.median),
                                 times(row.ratio.median), times(row.ratio.low) + "-" + times(row.ratio.high));
  if (flags.floor)
    text += fmt::format(" {:>10} {:>11}", microseconds(row.copy_seconds),
                        row.exchange_seconds > 0 ? microseconds(row.exchange_seconds) : "-");
  if (flags.reproducible) text += fmt::format(" {:>12}", "x " + times(row.price.median));
  return text + fmt::format(" {:>6}  {}\n", flags.check ? std::to_string(row.errors) : "-", row.algorithm);
}

json document_of(const PerfFlags& flags, const PerfRun& run) {
  json rows = json::array();
  for (const PerfRow& row : run.rows) {
    json entry = {{"bytes", row.bytes},
                  {"native_seconds", spread_json(row.native)},
                  {"strata_seconds", spread_json(row.strata)},
                  {"ratio", spread_json(row.ratio)},
                  {"pairs", row.pairs},
                  {"calls_per_batch", row.calls_per_batch},
                  {"algorithm", row.algorithm},
                  {"way", row.way},
                  {"predicted_seconds", row.predicted_seconds}};
    if (flags.check) entry["errors"] = row.errors;
    if (flags.check) entry["native_errors"] = row.native_errors;
    if (flags.floor) entry["copy_seconds"] = row.copy_seconds;
    if (flags.floor) entry["exchange_seconds"] = row.exchange_seconds;
    if (flags.reproducible) entry["price_of_reproducible"] = spread_json(row.price);
    rows.push_back(std::move(entry));
  }
  json document = {{"tool", "strata-perf"},
                   {"version", PACKAGE_VERSION},
                   {"collective", "allreduce"},
                   {"type", type::name_of(flags.element)},
                   {"operation", type::name_of(flags.operation)},
                   {"in_place", flags.in_place},
                   {"pace", name_of(flags.pace)},
                   {"ranks", run.ranks},
                   {"nodes", run.nodes},
                   {"hosts", run.hosts},
                   {"library", run.library},
                   {"options", run.options},
                   {"rows", rows}};
  if (flags.floor) document["flag_seconds"] = run.flag_seconds;
  if (!run.memory.empty()) document["memory"] = run.memory;
  if (!run.memory.empty()) document["native_staged"] = run.native_staged;
  return document;
}

} // namespace strata::tools
