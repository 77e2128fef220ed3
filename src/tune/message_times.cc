// SPDX-License-Identifier: BSD-3-Clause
#include "tune/message_times.h"

#include <algorithm>

namespace strata::tune {
namespace {

/// A size that was measured.
struct Point {
  double bytes = 0, seconds = 0;
};

double on_the_line(const Point& one, const Point& other, double bytes) {
  return one.seconds + (other.seconds - one.seconds) * (bytes - one.bytes) / (other.bytes - one.bytes);
}

/// The last two sizes up to the first one of at least `bytes`, or of all. `second` alone: one was measured.
struct Segment {
  Point first, second;
};

Segment segment_at(const SecondsBySize& measured, double bytes) {
  Segment found;
  for (std::size_t i = 0; i < measured.size() && found.second.bytes < bytes; ++i)
    if (measured[i] > 0) found = {found.second, {static_cast<double>(message_sizes[i]), measured[i]}};
  return found;
}

} // namespace

double seconds_of(const SecondsBySize& measured, double bytes) {
  const auto [first, second] = segment_at(measured, bytes);
  if (second.bytes <= 0) return 0;
  if (first.bytes <= 0) return bytes > second.bytes ? second.seconds * bytes / second.bytes : second.seconds;
  // What is noise in short messages is not to grow with the size.
  if (bytes > second.bytes) return std::max(on_the_line(first, second, bytes), second.seconds);
  return on_the_line(first, second, bytes);
}

double seconds_per_byte(const SecondsBySize& measured) {
  const auto [first, second] = segment_at(measured, static_cast<double>(message_sizes.back()));
  if (first.bytes <= 0) return 0;
  return std::max(0.0, (second.seconds - first.seconds) / (second.bytes - first.bytes));
}

double latency_beside(double latency, const SecondsBySize& measured) {
  return measured.front() > 0 && latency > 2 * measured.front() ? measured.front() : latency;
}

} // namespace strata::tune
