// SPDX-License-Identifier: BSD-3-Clause
// The inside of a node as hwloc knows it, in the words of a machine line.
#include "base/options.h"
#include "base/text.h"
#include "base/text_file.h"
#include "tools/sim.h"
#include "topo/local_facts.h"
#include "topo/regular.h"

#include <fmt/format.h>

namespace strata::tools {
namespace {

std::string word_of(const std::string& level) { return level == "package" ? "socket" : level; }

} // namespace

Result<std::string> words_of_cores(std::span<const topo::RankFacts> cores) {
  if (cores.empty()) return argument_error("it has no cores");
  const topo::Hierarchy hierarchy = topo::hierarchy_from(cores);
  const auto regular = topo::regular_from(hierarchy);
  if (!regular)
    return argument_error(
        "some of its packages, NUMA nodes or caches have more cores than others, which no machine line "
        "can say");
  std::string words;
  for (std::size_t level = regular->levels.size(); level-- > 1;)
    words += fmt::format("{}:{} ", word_of(regular->levels[level - 1].name), regular->levels[level].members);
  words += fmt::format("core:{}", regular->levels.empty() ? 1 : regular->levels.front().members);
  if (const auto line = sim::machine_line_from(words); !line)
    return argument_error(fmt::format("it is '{}', and no machine line can say that: {}", words, line.error().message));
  return words;
}

Result<std::string> words_of_file(const std::string& file) {
  const auto xml = text_of_file(file, most_file_bytes);
  if (!xml) return Error{xml.error().kind, fmt::format("cannot read {}: {}", printable(file), xml.error().message)};
  std::vector<std::string> complaints; // of options that have nothing to do with it
  const auto cores = topo::cores_in_xml(options_from_environment(complaints), *xml);
  const auto words = cores ? words_of_cores(*cores) : Result<std::string>(cores.error());
  if (!words) return Error{words.error().kind, fmt::format("{}: {}", printable(file), words.error().message)};
  return words;
}

} // namespace strata::tools
