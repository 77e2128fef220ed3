// SPDX-License-Identifier: BSD-3-Clause
// What STRATA_STATS prints and what the introspection tells: the sums over all contexts of this process.
#include "mpi/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace strata::mpi {
namespace {

using Tallies = std::map<std::string, comm::Tally>;

/// One part of the table.
struct Section {
  const char* title;
  const char* counted;
  const Tallies& rows;
};

std::size_t width_of(std::span<const Section> sections) {
  std::size_t width = 0;
  for (const Section& section : sections) {
    width = std::max(width, std::string_view(section.title).size());
    for (const auto& [name, tally] : section.rows)
      width = std::max(width, name.size() + 2);
  }
  return width;
}

void append(std::string& text, const Section& section, std::size_t width) {
  text += fmt::format("{:<{}}  {:>12}  {:>16}\n", section.title, width, section.counted, "bytes");
  for (const auto& [name, tally] : section.rows)
    text += fmt::format("  {:<{}}  {:>12}  {:>16}\n", name, width - 2, tally.calls,
                        tally.bytes == 0 ? "-" : std::to_string(tally.bytes)); // of some reasons only calls are counted
  if (section.rows.empty()) text += fmt::format("  {:<{}}  {:>12}  {:>16}\n", "(none)", width - 2, "-", "-");
}

} // namespace

comm::Statistics statistics(State& now) {
  std::vector<std::shared_ptr<CommunicatorRecord>> records;
  { // kept from here on, so that no context is counted twice
    const std::lock_guard lock(now.mutex);
    records.assign(now.records.begin(), now.records.end());
    records.insert(records.end(), now.released.begin(), now.released.end());
  }
  comm::Statistics sum;
  if (now.process) sum = now.process->counted();
  for (const auto& record : records) {
    std::unique_lock lock(record->mutex,
                          std::defer_lock); // never with now.mutex: make_context() has them the other way
    if (now.several_threads) lock.lock();
    if (record->context) sum.add(record->context->statistics());
  }
  for (std::size_t index = 0; index < reasons; ++index) {
    const auto reason = static_cast<Reason>(index);
    if (reason == Reason::predicted) continue; // the contexts count these, with their bytes
    const comm::Tally tally{now.native_calls[index].load(std::memory_order_relaxed), 0}; // a call's bytes need its type
    if (tally.calls > 0) sum.native_by_reason[text_of(reason)] += tally;
  }
  return sum;
}

std::string statistics_table(const comm::Statistics& statistics) {
  std::vector<Section> sections{
      Section{"run by strata", "calls", statistics.by_algorithm},
      Section{"passed to the MPI library", "calls", statistics.native_by_reason},
      Section{"sent by level", "messages", statistics.sent_by_level},
      Section{"sent by transport", "messages", statistics.sent_by_transport},
  };
  if (!statistics.device_by_path.empty()) sections.push_back({"device memory", "calls", statistics.device_by_path});
  const std::size_t width = width_of(sections);
  std::string text;
  for (const Section& section : sections)
    append(text, section, width);
  text += fmt::format("contexts made: {}; most memory held for them, in bytes: shared {}, scratch {}, messages {}",
                      statistics.contexts, statistics.most_segment_bytes, statistics.most_scratch_bytes,
                      statistics.most_message_bytes);
  return text;
}

} // namespace strata::mpi
