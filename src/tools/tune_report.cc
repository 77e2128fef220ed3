// SPDX-License-Identifier: BSD-3-Clause
#include "tools/tune.h"

namespace strata::tools {
namespace {

using nlohmann::json;

/// {way: seconds}
json times_of(const std::vector<MeasuredWay>& ways) {
  json times = json::object();
  for (const MeasuredWay& one : ways)
    times[to_text(one.way)] = one.seconds;
  return times;
}

json text_of(const std::optional<tune::Way>& way) { return way ? json(to_text(*way)) : json(nullptr); }

json choice_of(const OwnChoice& own) {
  return {{"way", text_of(own.way)},
          {"way_at_first", text_of(own.way_at_first)},
          {"way_after", text_of(own.way_after)},
          {"seconds", own.seconds},
          {"forced_seconds", own.forced_seconds ? json(*own.forced_seconds) : json(nullptr)},
          {"best", to_text(own.best.way)},
          {"best_seconds", own.best.seconds},
          {"native_seconds", own.native_seconds},
          {"doubt", own.doubt},
          {"errors", own.wrong},
          {"native_errors", own.native_wrong}};
}

} // namespace

json document_of(json facts, const std::vector<MeasuredSize>& sizes) {
  json rows = json::array();
  for (const MeasuredSize& size : sizes) {
    rows.push_back({{"bytes", size.bytes}, {"ways", times_of(size.ways)}, {"briefly", times_of(size.briefly)}});
    if (size.own) rows.back()["by_itself"] = choice_of(*size.own);
  }
  facts["rows"] = std::move(rows);
  return facts;
}

} // namespace strata::tools
