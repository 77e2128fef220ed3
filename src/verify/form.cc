// SPDX-License-Identifier: BSD-3-Clause
#include "verify/form.h"

#include "verify/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace strata::verify {

using namespace sched;

namespace {

// Each of these returns what is wrong with a step, or an empty string.

std::string fault_of_range(Range range) {
  if (range.begin >= 0 && range.begin < range.end && range.end <= whole) return {};
  return fmt::format("range {} is empty or outside of the slice [0,1)", to_text(range));
}

std::string fault_of_place(const Program& program, Place place) {
  switch (place.buffer) {
  case Buffer::input:
  case Buffer::output:
    if (place.region == 0) return {};
    return fmt::format("region {} of {}, which has only region 0", place.region, to_text(place));
  case Buffer::scratch:
    if (place.region < program.scratch_regions) return {};
    return fmt::format("{} does not exist; the program has {} scratch regions", to_text(place),
                       program.scratch_regions);
  }
  return fmt::format("buffer {} is none of input, output, scratch", static_cast<int>(place.buffer));
}

std::string fault_of_peer(const Program& program, std::int32_t peer) {
  if (peer < 0 || peer >= program.ranks) return fmt::format("peer {} is not in 0..{}", peer, program.ranks - 1);
  if (peer == program.rank) return fmt::format("peer {} is the rank itself", peer);
  return {};
}

std::string fault_of_dependencies(const Step& step, StepIndex index) {
  StepIndex before = -1;
  for (StepIndex dependency : step.dependencies) {
    if (dependency < 0 || dependency >= index) return fmt::format("depends on step {}, not an earlier one", dependency);
    if (dependency <= before) return fmt::format("dependencies {}, {} do not ascend", before, dependency);
    before = dependency;
  }
  return {};
}

std::string fault_of_peers(const Program& program, const Step& step) {
  if (step.kind != Kind::send) return step.peers.empty() ? "" : "has peers, but is not a send";
  if (step.peers.empty()) return "sends to nobody";
  std::vector<std::int32_t> sorted = step.peers;
  std::sort(sorted.begin(), sorted.end());
  for (std::int32_t peer : sorted)
    if (std::string fault = fault_of_peer(program, peer); !fault.empty()) return fault;
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  return twice == sorted.end() ? "" : fmt::format("sends to peer {} twice", *twice);
}

std::string fault_of_operand(const Program& program, const Step& step, const Operand& operand) {
  if (operand.kind == Operand::Kind::message) return fault_of_peer(program, operand.peer);
  if (operand.kind == Operand::Kind::local) return fault_of_place(program, operand.place);
  return fmt::format("operand kind {} of {} is neither local nor message", static_cast<int>(operand.kind),
                     to_text(step.place));
}

bool same(const Operand& a, const Operand& b) {
  if (a.kind != b.kind) return false;
  return a.kind == Operand::Kind::local ? a.place == b.place : a.peer == b.peer && a.tag == b.tag;
}

std::string fault_of_repetition(const Step& step) {
  for (std::size_t i = 0; i < step.operands.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (same(step.operands[i], step.operands[j])) return fmt::format("operands {} and {} are the same", j, i);
  return {};
}

std::string fault_of_operands(const Program& program, const Step& step) {
  for (const Operand& operand : step.operands)
    if (std::string fault = fault_of_operand(program, step, operand); !fault.empty()) return fault;
  const std::size_t count = step.operands.size();
  const auto one_of = [&](Operand::Kind kind) { return count == 1 && step.operands[0].kind == kind; };
  switch (step.kind) {
  case Kind::send:
    return count == 0 ? "" : "a send has operands";
  case Kind::recv:
    return one_of(Operand::Kind::message) ? "" : "a recv needs one operand, a message";
  case Kind::copy:
    if (!one_of(Operand::Kind::local)) return "a copy needs one operand, a local place";
    return step.operands[0].place == step.place ? "copies a place to itself" : "";
  case Kind::reduce:
    return count > 0 ? fault_of_repetition(step) : "a reduce needs an operand";
  }
  return fmt::format("step kind {} is none of send, recv, reduce, copy", static_cast<int>(step.kind));
}

std::string fault_of(const Program& program, const Step& step, StepIndex index) {
  if (std::string fault = fault_of_range(step.range); !fault.empty()) return fault;
  if (std::string fault = fault_of_place(program, step.place); !fault.empty()) return fault;
  if (step.kind != Kind::send && step.place.buffer == Buffer::input) return "writes to input";
  if (std::string fault = fault_of_dependencies(step, index); !fault.empty()) return fault;
  if (std::string fault = fault_of_peers(program, step); !fault.empty()) return fault;
  return fault_of_operands(program, step);
}

Error bad_argument(std::string message) { return {ErrorKind::argument, std::move(message)}; }

Status check_contract(std::size_t ranks, const Contract& contract) {
  if (contract.kind == Contract::Kind::all_reduce) return ok();
  if (contract.owned.size() != ranks)
    return bad_argument(fmt::format("contract owns {} ranges for {} ranks", contract.owned.size(), ranks));
  std::vector<Range> owned;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Range range = contract.owned[rank];
    if (range.empty()) continue; // a rank may own nothing
    if (std::string fault = fault_of_range(range); !fault.empty())
      return bad_argument(fmt::format("contract of rank {}: {}", rank, fault));
    owned.push_back(range);
  }
  if (contract.kind != Contract::Kind::all_gather) return ok();
  std::sort(owned.begin(), owned.end(), [](Range a, Range b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < owned.size(); ++i)
    if (owned[i].begin < owned[i - 1].end)
      return bad_argument(fmt::format("contract: the owned ranges {} and {} of an all-gather overlap",
                                      to_text(owned[i - 1]), to_text(owned[i])));
  return ok();
}

} // namespace

Status check_form(std::span<const Program> programs, const Contract& contract) {
  if (programs.empty()) return bad_argument("a schedule needs the program of one rank at least");
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    if (program.rank != static_cast<int>(rank) || program.ranks != static_cast<int>(programs.size()))
      return bad_argument(fmt::format("program {} of {} says that it is rank {} of {}", rank, programs.size(),
                                      program.rank, program.ranks));
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const auto index = static_cast<StepIndex>(i);
      if (std::string fault = fault_of(program, program.steps[i], index); !fault.empty())
        return refusal(program, index, fault);
    }
  }
  return check_contract(programs.size(), contract);
}

} // namespace strata::verify
