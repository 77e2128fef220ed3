// SPDX-License-Identifier: BSD-3-Clause
#include "sched/builder.h"

#include <algorithm>
#include <utility>

namespace strata::sched {

ProgramBuilder::ProgramBuilder(int rank, int ranks) {
  program_.rank = rank;
  program_.ranks = ranks;
}

ProgramBuilder::Timeline& ProgramBuilder::timeline(Place place) {
  const int key = place.buffer == Buffer::scratch ? 1 + place.region : 0;
  Timeline& found = timelines_[key];
  if (found.empty()) {
    found[0] = History{};
    found[whole] = History{}; // end marker
  }
  return found;
}

void ProgramBuilder::split(Timeline& timeline, Unit at) {
  auto after = timeline.lower_bound(at);
  if (after != timeline.end() && after->first == at) return;
  const History before = std::prev(after)->second;
  timeline.emplace_hint(after, at, before);
}

void ProgramBuilder::note_read(Place place, Range range, Step& step, StepIndex index) {
  Timeline& pieces = timeline(place);
  split(pieces, range.begin);
  split(pieces, range.end);
  for (auto piece = pieces.find(range.begin); piece->first < range.end; ++piece) {
    if (piece->second.writer >= 0) step.dependencies.push_back(piece->second.writer);
    piece->second.readers.push_back(index);
  }
}

void ProgramBuilder::note_write(Place place, Range range, Step& step, StepIndex index) {
  Timeline& pieces = timeline(place);
  split(pieces, range.begin);
  split(pieces, range.end);
  for (auto piece = pieces.find(range.begin); piece->first < range.end; ++piece) {
    History& history = piece->second;
    if (history.writer >= 0) step.dependencies.push_back(history.writer);
    for (StepIndex reader : history.readers)
      if (reader != index) step.dependencies.push_back(reader);
    history.writer = index;
    history.readers.clear();
  }
}

StepIndex ProgramBuilder::append(Step step) {
  const auto index = static_cast<StepIndex>(program_.steps.size());
  if (step.kind == Kind::send) {
    note_read(step.place, step.range, step, index);
  } else {
    for (const Operand& operand : step.operands)
      if (operand.kind == Operand::Kind::local) note_read(operand.place, step.range, step, index);
    note_write(step.place, step.range, step, index);
  }
  auto& needed = step.dependencies;
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  program_.steps.push_back(std::move(step));
  return index;
}

StepIndex ProgramBuilder::send(Range range, Place place, std::vector<std::int32_t> peers, Tag tag) {
  if (peers.empty() || range.empty()) return -1;
  Step step;
  step.kind = Kind::send;
  step.place = place;
  step.range = range;
  step.tag = tag;
  step.peers = std::move(peers);
  return append(std::move(step));
}

StepIndex ProgramBuilder::recv(Range range, Place place, int peer, Tag tag) {
  if (range.empty()) return -1;
  Step step;
  step.kind = Kind::recv;
  step.place = place;
  step.range = range;
  step.tag = tag;
  step.operands = {from(peer, tag)};
  return append(std::move(step));
}

StepIndex ProgramBuilder::reduce(Range range, Place place, std::vector<Operand> operands, Tag account) {
  if (range.empty()) return -1;
  Step step;
  step.kind = Kind::reduce;
  step.place = place;
  step.range = range;
  step.tag = account;
  step.operands = std::move(operands);
  return append(std::move(step));
}

StepIndex ProgramBuilder::copy(Range range, Place place, Place source, Tag account) {
  if (range.empty()) return -1;
  Step step;
  step.kind = Kind::copy;
  step.place = place;
  step.range = range;
  step.tag = account;
  step.operands = {from(source)};
  return append(std::move(step));
}

} // namespace strata::sched
