// SPDX-License-Identifier: BSD-3-Clause
// Segments handed from process to process, where they cannot be opened by their numbers: between pid or user
// namespaces (a container for each rank), or where a process may not look into another.
//
// They pass through a Unix socket with an abstract name, which needs the same network namespace and leaves nothing
// behind. All processes take the same steps, and meet between any two of them, so that no step has to wait:
//
//   1. offer    listen under a random name, which the others are told
//   2. ask      connect to those whose segment could not be opened, and say their nonce
//   3. answer   send the segment's file to who is of the same user and knows the nonce
//   4. take     what was sent
//
// The last three may be taken again, for others. The kernel bounds how many files are on their way at once.
//
// A connection stays open while both processes live: its end tells that the owner has ended (or, where that has
// forked, that its children have as well). So a process holds two descriptors for each peer.
#pragma once

#include "base/descriptor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace strata::transport::shm {

class Handover {
public:
  /// What was sent: the file, and the connection to its owner.
  struct Taken {
    Descriptor file, connection;
  };

  /// The name to tell the others; empty: they cannot ask this process.
  std::string offer();
  /// For the segment with that nonce. That it cannot is seen in take().
  void ask(const std::string& name, std::uint64_t nonce);
  /// Hands `file`, whose nonce is given, to all that have asked by now.
  void answer(int file, std::uint64_t nonce);
  void end_offer() { listener_ = Descriptor(); }
  /// Whether peers hold connections to it. Those that hold none any more, because they could not map what was sent or
  /// have let go of it, are forgotten.
  bool has_answered();
  /// Once for each nonce; without a file if its owner did not send it.
  Taken take(std::uint64_t nonce);

private:
  Descriptor listener_;
  std::map<std::uint64_t, Descriptor> asked_; ///< by nonce
  std::vector<Descriptor> answered_;          ///< so that peers see that this process lives
};

} // namespace strata::transport::shm
