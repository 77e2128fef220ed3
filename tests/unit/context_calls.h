// SPDX-License-Identifier: BSD-3-Clause
// Calls of a Context that check their own results.
#pragma once

#include "comm/context.h"
#include "vectors.h"

#include <fmt/format.h>

namespace strata::comm {

using Place = vectors::Buffers::Place;

struct TestCall {
  std::int64_t count = 1;
  type::Element element = type::Element::float32;
  type::Operation operation = type::Operation::sum;
  Place place = Place::apart;
};

/// One all-reduce; empty, or what is wrong with it on this rank.
inline std::string fault_of(Context& context, const TestCall& test, unsigned salt = 3) {
  vectors::Buffers buffers(vectors::contribution(test.element, test.operation, context.rank(), test.count, salt),
                           test.place);
  Call call;
  call.input = buffers.input();
  call.output = buffers.output();
  call.elements = test.count;
  call.element = test.element;
  call.operation = test.operation;
  const bool done = context.all_reduce(call) == Outcome::done;
  const auto wanted = vectors::reduction(test.element, test.operation, context.ranks(), test.count, salt);
  std::string fault =
      !done ? "it was handed to native" : vectors::difference(wanted, buffers.output(), type::bytes_of(test.element));
  if (!buffers.guards_hold()) fault += " wrote past its output";
  if (fault.empty()) return {};
  return fmt::format("rank {} of {}: {} {} {} {}: {}\n", context.rank(), context.ranks(), test.count,
                     type::name_of(test.element), type::name_of(test.operation),
                     test.place == Place::same ? "in place" : "", fault);
}

/// Faults of all ranks of a job, each written by its own thread.
class Faults {
public:
  explicit Faults(int ranks) : by_rank_(static_cast<std::size_t>(ranks)) {}
  void add(const Context& context, const std::string& fault) {
    by_rank_[static_cast<std::size_t>(context.rank())] += fault;
  }
  std::string text() const {
    std::string all;
    for (const std::string& one : by_rank_)
      all += one;
    return all;
  }

private:
  std::vector<std::string> by_rank_;
};

} // namespace strata::comm
