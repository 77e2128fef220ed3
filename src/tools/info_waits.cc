// SPDX-License-Identifier: BSD-3-Clause
#include "comm/waits.h"
#include "tools/info.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace strata::tools {

std::string waits_text(bool as_json) {
  using nlohmann::json;
  const std::vector<comm::ProcessWait> waits = comm::waits_on_this_node();
  if (as_json) {
    json rows = json::array();
    for (const comm::ProcessWait& wait : waits)
      rows.push_back({{"pid", wait.pid},
                      {"program", wait.program},
                      {"rank", wait.world_rank},
                      {"ranks", wait.world_ranks},
                      {"waits", wait.waits},
                      {"text", wait.text}});
    return json{{"processes", rows}}.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  }
  if (waits.empty()) return "no process of yours on this node runs with strata (or has shared memory)\n";
  std::string text;
  for (const comm::ProcessWait& wait : waits)
    text +=
        fmt::format("{} {}, rank {} of {}: {}\n", wait.pid, wait.program, wait.world_rank, wait.world_ranks, wait.text);
  return text;
}

} // namespace strata::tools
