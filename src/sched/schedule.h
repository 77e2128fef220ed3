// SPDX-License-Identifier: BSD-3-Clause
// Schedules as data: what every rank does to one slice of a collective, independent of bytes, types and buffers.
//
// The same schedule has four readers: the engine runs it, the simulator times it, the verifier proves it, the
// drawer prints it. What they all rely on is fixed here:
//
//  - A slice is the interval [0, whole) of units. A step works on one Range of it: all operands, messages and the
//    target of a step mean the same part of the slice. Bytes come in only when a plan is bound (see element_at).
//  - A rank's steps are listed in an order in which they could run one after the other. They may run in any order,
//    and at the same time, as long as each starts after the steps it depends on have completed.
//  - A message is identified by (sender, receiver, tag, begin of its range), once per slice; never by arrival order.
//  - No buffering is assumed: a Send completes when all of its receivers have taken the message, or earlier. A
//    schedule must be right in both cases. Until it completes, nobody may write what it sends.
//  - A Reduce is atomic: all operands are there before the first byte of the target is written, and the operands are
//    combined from left to right, rounded once (float16, bfloat16) at the end.
//  - Input and Output may be the same memory (in place), so a step that writes Output also overwrites Input there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata::sched {

/// A position in a slice. 720720 is divisible by 1..16, so that the usual group sizes divide a slice exactly.
using Unit = std::int64_t;
inline constexpr Unit whole = Unit{720720} << 24;

/// The half-open interval [begin, end) of a slice.
struct Range {
  Unit begin = 0;
  Unit end = whole;
  bool operator==(const Range&) const = default;
  bool empty() const { return begin >= end; }
};

/// Part `index` of `range` when it is cut into `parts` nearly equal parts.
Range part_of(Range range, int parts, int index);

/// The element at which a unit position falls in a slice of `elements` (nearest; monotone in `position`, so that
/// ranges which partition the slice partition the elements).
std::int64_t element_at(Unit position, std::int64_t elements);

enum class Buffer : std::uint8_t { input, output, scratch };

/// A buffer that a step reads or writes at its range. Scratch has as many regions, each of one slice, as a program
/// asks for.
struct Place {
  Buffer buffer = Buffer::input;
  std::uint16_t region = 0;
  bool operator==(const Place&) const = default;
};
inline constexpr Place input{Buffer::input, 0};
inline constexpr Place output{Buffer::output, 0};
inline Place scratch(std::uint16_t region) { return {Buffer::scratch, region}; }

/// Names a message among those of the same sender and receiver with the same range begin.
struct Tag {
  std::uint8_t level = 0;  ///< Level of the hierarchy, 0 innermost; also used to account bytes.
  std::uint8_t phase = 0;  ///< Which stage at that level (see Phase).
  std::uint16_t round = 0; ///< Chosen by the algorithm.
  bool operator==(const Tag&) const = default;
};
enum Phase : std::uint8_t { reduce_scatter_phase, all_reduce_phase, all_gather_phase, reduce_phase, broadcast_phase };

/// What a Reduce, Recv or Copy reads: a local place, or a message that a peer sent.
struct Operand {
  enum class Kind : std::uint8_t { local, message } kind = Kind::local;
  Place place{};          ///< kind local.
  std::int32_t peer = -1; ///< kind message: the sender's rank in the communicator.
  Tag tag{};              ///< kind message.
  bool operator==(const Operand&) const = default;
};
Operand from(Place place);
Operand from(int peer, Tag tag);

enum class Kind : std::uint8_t {
  send,   ///< Sends `place` to each of `peers`. In shared memory that is one copy for all of them.
  recv,   ///< Takes one message into `place`.
  reduce, ///< Combines the operands, messages or local, in their order into `place`.
  copy,   ///< Copies one local operand to `place`.
};

/// Index of a step in its program.
using StepIndex = std::int32_t;

struct Step {
  Kind kind = Kind::copy;
  Place place{}; ///< Source of a send; target of the others.
  Range range{};
  Tag tag{};                           ///< send: the tag of its messages; others: level and phase for accounting.
  std::vector<Operand> operands;       ///< recv and copy: one; reduce: one or more.
  std::vector<std::int32_t> peers;     ///< send only: receivers, each once, not this rank.
  std::vector<StepIndex> dependencies; ///< Earlier steps of this rank that must have completed, ascending.
};

/// The steps of one rank for one slice.
struct Program {
  int rank = 0;
  int ranks = 1;
  std::uint16_t scratch_regions = 0;
  std::vector<Step> steps;
};

/// Readable form of a program, one step a line, such as
///   `3: reduce output[1/4,1/2) = input + message(2, l0.rs.0)  after 1`
std::string to_text(const Program& program);
std::string to_text(const Step& step);
std::string to_text(Range range);
std::string to_text(Place place);
std::string to_text(Tag tag);

} // namespace strata::sched
