// SPDX-License-Identifier: BSD-3-Clause
#include "sched/schedule.h"

#include <fmt/format.h>

#include <numeric>

namespace strata::sched {

Range part_of(Range range, int parts, int index) {
  const Unit length = range.end - range.begin;
  // 128 bits: a slice has about 2^43 units, and a group may have a million members.
  const auto cut = [&](int i) { return range.begin + static_cast<Unit>(static_cast<__int128>(length) * i / parts); };
  return {cut(index), cut(index + 1)};
}

std::int64_t element_at(Unit position, std::int64_t elements) {
  const auto scaled = static_cast<__int128>(position) * elements;
  return static_cast<std::int64_t>((scaled + whole / 2) / whole);
}

Operand from(Place place) {
  Operand operand;
  operand.kind = Operand::Kind::local;
  operand.place = place;
  return operand;
}

Operand from(int peer, Tag tag) {
  Operand operand;
  operand.kind = Operand::Kind::message;
  operand.peer = peer;
  operand.tag = tag;
  return operand;
}

namespace {

std::string fraction(Unit position) {
  const Unit divisor = std::gcd(position % whole, whole); // also for what no range may hold: gcd(min) is undefined
  if (divisor == whole) return fmt::format("{}", position / whole);
  return fmt::format("{}/{}", position / divisor, whole / divisor);
}

std::string to_text(const Operand& operand) {
  if (operand.kind == Operand::Kind::local) return sched::to_text(operand.place);
  return fmt::format("message({}, {})", operand.peer, sched::to_text(operand.tag));
}

} // namespace

std::string to_text(Range range) { return fmt::format("[{},{})", fraction(range.begin), fraction(range.end)); }

std::string to_text(Place place) {
  switch (place.buffer) {
  case Buffer::input:
    return "input";
  case Buffer::output:
    return "output";
  case Buffer::scratch:
    return fmt::format("scratch{}", place.region);
  }
  return "?";
}

std::string to_text(Tag tag) {
  static constexpr const char* phases[] = {"rs", "ar", "ag", "re", "bc"};
  const char* phase = tag.phase < std::size(phases) ? phases[tag.phase] : "?";
  return fmt::format("l{}.{}.{}", tag.level, phase, tag.round);
}

std::string to_text(const Step& step) {
  std::string line;
  const std::string where = to_text(step.place) + to_text(step.range);
  switch (step.kind) {
  case Kind::send:
    line = fmt::format("send {} to {} as {}", where, fmt::join(step.peers, ","), to_text(step.tag));
    break;
  case Kind::recv:
    line = fmt::format("recv {}", where);
    break;
  case Kind::reduce:
    line = fmt::format("reduce {}", where);
    break;
  case Kind::copy:
    line = fmt::format("copy {}", where);
    break;
  }
  for (std::size_t i = 0; i < step.operands.size(); ++i)
    line += (i == 0 ? " = " : " + ") + to_text(step.operands[i]);
  if (!step.dependencies.empty()) line += fmt::format("  after {}", fmt::join(step.dependencies, ","));
  return line;
}

std::string to_text(const Program& program) {
  std::string text = fmt::format("rank {} of {}, {} steps, {} scratch regions\n", program.rank, program.ranks,
                                 program.steps.size(), program.scratch_regions);
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    text += fmt::format("{}: {}\n", i, to_text(program.steps[i]));
  return text;
}

} // namespace strata::sched
