// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a context find each other before strata's own transports are up.
#pragma once

#include "base/result.h"
#include "engine/wait.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace strata::comm {

class Bootstrap {
public:
  virtual ~Bootstrap() = default;
  virtual std::int32_t rank() const = 0;
  virtual std::int32_t ranks() const = 0;
  /// What the program calls this communicator; empty: nothing.
  virtual std::string name() const { return {}; }
  /// Every rank gives `bytes` and gets those of all, in rank order. Collective.
  virtual Status all_gather(const void* mine, void* all, std::size_t bytes) = 0;
  /// Waits for all ranks, and calls `meanwhile` until they are there: a peer that is on its way here may need what it
  /// does. Collective; takes no memory. A bootstrap that cannot do that returns at once.
  virtual void wait_for_all(engine::IdleHook meanwhile) { (void)meanwhile; }
  /// To be called while waiting.
  virtual engine::IdleHook idle_hook() const { return {}; }
  /// Whether all_gather() and the idle hook may be called from a thread of strata's own.
  virtual bool takes_any_thread() const { return false; }
  /// Whether a call can be handed to another library (an MPI library).
  virtual bool has_native() const { return false; }
  /// That library as a table of ways names it: "openmpi-4.1"; empty: there is none.
  virtual std::string native_name() const { return {}; }
  /// A message to or from a rank by that library's point-to-point. The receiver knows its size; both return when their
  /// part is done. `tag`, from 0 to most_native_tag, is that of no other message between the two at that time. False:
  /// there is no such library, or it failed.
  virtual bool native_send(std::int32_t /*peer*/, int /*tag*/, const void* /*data*/, std::size_t /*bytes*/) {
    return false;
  }
  virtual bool native_receive(std::int32_t /*peer*/, int /*tag*/, void* /*data*/, std::size_t /*bytes*/) {
    return false;
  }
  static constexpr int most_native_tag = 16383;
};

/// all_gather of one value of a plain type.
template <typename T>
Result<std::vector<T>> gather(Bootstrap& bootstrap, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(bootstrap.ranks()));
  if (Status gathered = bootstrap.all_gather(&mine, all.data(), sizeof(T)); !gathered) return gathered.error();
  return all;
}

/// all_gather of strings of any length: two exchanges.
inline Result<std::vector<std::string>> gather_text(Bootstrap& bootstrap, const std::string& mine) {
  auto lengths = gather(bootstrap, static_cast<std::uint64_t>(mine.size()));
  if (!lengths) return lengths.error();
  std::size_t most = 0;
  for (std::uint64_t length : *lengths)
    most = most < length ? length : most;
  std::vector<std::string> all(lengths->size());
  if (most == 0) return all;
  std::vector<char> padded(most, '\0'), gathered(most * all.size());
  std::memcpy(padded.data(), mine.data(), mine.size());
  if (Status done = bootstrap.all_gather(padded.data(), gathered.data(), most); !done) return done.error();
  for (std::size_t r = 0; r < all.size(); ++r)
    all[r].assign(gathered.data() + r * most, (*lengths)[r]);
  return all;
}

/// Rank 0's text, on all ranks. In pieces, because every rank must make room for all.
inline Result<std::string> text_of_first(Bootstrap& bootstrap, const std::string& text) {
  auto lengths = gather(bootstrap, static_cast<std::uint64_t>(text.size()));
  if (!lengths) return lengths.error();
  struct Piece {
    char bytes[256];
  };
  std::string whole;
  while (whole.size() < lengths->front()) {
    Piece mine{};
    if (whole.size() < text.size()) text.copy(mine.bytes, sizeof mine.bytes, whole.size());
    auto pieces = gather(bootstrap, mine);
    if (!pieces) return pieces.error();
    whole.append(pieces->front().bytes, std::min<std::size_t>(sizeof mine.bytes, lengths->front() - whole.size()));
  }
  return whole;
}

} // namespace strata::comm
