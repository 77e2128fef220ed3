// SPDX-License-Identifier: BSD-3-Clause
// Timelines as text, in the Trace Event Format (JSON) that Perfetto and chrome://tracing read. What a real run recorded
// and what the simulator predicts are written by the same functions, so that both can be laid side by side:
//
//     process  a node             "node 0"
//     thread   a rank             "rank 0"
//     slice    a call             "all-reduce", category "call"; in it, one after the other,
//              a step of it       "send", "recv", "reduce" or "copy", category "level 0": what kept the core busy
//              nothing to do      "wait", category "wait"
//
// Times are microseconds.
#pragma once

#include "sched/schedule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata::trace {

/// Where a slice is shown.
struct Row {
  std::int32_t node = 0;
  std::int32_t rank = 0; ///< of all ranks of the job
};

/// Seconds since the beginning of the timeline.
struct Span {
  double begin = 0, end = 0;
};

/// What does not change from one run of a step to the next.
struct StepName {
  sched::Kind kind = sched::Kind::copy;
  std::string members; ///< of the slice: its name and category, and first arguments
};
StepName step_name(const sched::Program& program, sched::StepIndex step);

/// A call, and how it is done.
struct CallName {
  std::string algorithm;
  std::int32_t ranks = 1; ///< of the communicator
};

/// The document's beginning. It names no slice yet.
std::string timeline_head();
/// Its end, with what else is to be known as members of a JSON object.
std::string timeline_tail(std::string_view members);

/// What stands between head and tail: functions that append to a text.
void name_node(std::string& text, std::int32_t node, std::string_view host);
void name_rank(std::string& text, Row row);
void add_call(std::string& text, Row row, Span span, const CallName& name, std::uint64_t call, std::int64_t bytes);
void add_step(std::string& text, Row row, Span span, const StepName& name, std::uint64_t call, std::int64_t slice,
              std::int64_t bytes);
void add_wait(std::string& text, Row row, Span span, std::uint64_t call);

/// `text` between quotes.
std::string json_string(std::string_view text);

} // namespace strata::trace
