// SPDX-License-Identifier: BSD-3-Clause
#include "trace/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iterator>

namespace strata::trace {
namespace {

/// To a picosecond: the difference of two times has more digits than it means.
double microseconds(double seconds) { return std::round(seconds * 1e12) / 1e6; }

const char* name_of(sched::Kind kind) {
  switch (kind) {
  case sched::Kind::send:
    return "send";
  case sched::Kind::recv:
    return "recv";
  case sched::Kind::reduce:
    return "reduce";
  case sched::Kind::copy:
    return "copy";
  }
  return "?";
}

/// To whom a step sends, or from whom it takes.
std::vector<std::int32_t> peers_of(const sched::Step& step) {
  std::vector<std::int32_t> peers = step.peers;
  for (const sched::Operand& operand : step.operands)
    if (operand.kind == sched::Operand::Kind::message) peers.push_back(operand.peer);
  return peers;
}

/// A slice up to its arguments, which the caller goes on with.
void begin_slice(std::string& text, Row row, Span span) {
  fmt::format_to(std::back_inserter(text), ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},", row.node,
                 row.rank, microseconds(span.begin), microseconds(span.end - span.begin));
}

} // namespace

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    // What is no ASCII may be no UTF-8 either.
    quoted += letter >= ' ' && letter < 0x7f ? letter : '?';
  }
  return quoted += '"';
}

StepName step_name(const sched::Program& program, sched::StepIndex index) {
  const sched::Step& step = program.steps[static_cast<std::size_t>(index)];
  return {step.kind, fmt::format(R"("name":"{}","cat":"level {}","args":{{"step":{},"peers":[{}],)", name_of(step.kind),
                                 step.tag.level, json_string(fmt::format("{}: {}", index, sched::to_text(step))),
                                 fmt::join(peers_of(step), ","))};
}

std::string timeline_head() {
  // An event that says nothing, so that a comma stands before each of the others.
  return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
         R"({"ph":"M","name":"process_sort_index","pid":0,"tid":0,"args":{"sort_index":0}})";
}

std::string timeline_tail(std::string_view members) { return fmt::format("\n],\"otherData\":{{{}}}}}\n", members); }

void name_node(std::string& text, std::int32_t node, std::string_view host) {
  const auto add = [&](const char* what, const std::string& members) {
    fmt::format_to(std::back_inserter(text), ",\n{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":0,\"args\":{{{}}}}}",
                   what, node, members);
  };
  add("process_name", fmt::format("\"name\":\"node {}\"", node));
  if (!host.empty()) add("process_labels", fmt::format("\"labels\":{}", json_string(host)));
}

void name_rank(std::string& text, Row row) {
  fmt::format_to(std::back_inserter(text),
                 ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"rank {}\"}}}}",
                 row.node, row.rank, row.rank);
}

void add_call(std::string& text, Row row, Span span, const CallName& name, std::uint64_t call, std::int64_t bytes) {
  begin_slice(text, row, span);
  fmt::format_to(std::back_inserter(text),
                 R"("name":"all-reduce","cat":"call","args":{{"call":{},"algorithm":{},"bytes":{},"ranks":{}}}}})",
                 call, json_string(name.algorithm), bytes, name.ranks);
}

void add_step(std::string& text, Row row, Span span, const StepName& name, std::uint64_t call, std::int64_t slice,
              std::int64_t bytes) {
  begin_slice(text, row, span);
  fmt::format_to(std::back_inserter(text), R"({}"call":{},"slice":{},"bytes":{}}}}})", name.members, call, slice,
                 bytes);
}

void add_wait(std::string& text, Row row, Span span, std::uint64_t call) {
  begin_slice(text, row, span);
  fmt::format_to(std::back_inserter(text), R"("name":"wait","cat":"wait","args":{{"call":{}}}}})", call);
}

} // namespace strata::trace
