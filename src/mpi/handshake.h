// SPDX-License-Identifier: BSD-3-Clause
// Whether all ranks of MPI_COMM_WORLD run with strata, found at MPI_Init, before the first collective call of ours: one
// that a rank without strata does not enter would never end.
//
// Every rank says hello to rank 0, which asks all of them, once they are complete, whether they still wait; a rank that
// has given up has said no already. So all ranks come to one decision. The messages are of MPI_COMM_WORLD with a tag
// that no program is likely to choose, and go from a rank with strata to rank 0 and back, never to another: only a rank
// 0 without strata that receives from any rank with any tag could ever see one.
#pragma once

#include "base/options.h"

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace strata::mpi {

class Handshake {
public:
  /// `rank` and `ranks` of MPI_COMM_WORLD.
  Handshake(int rank, int ranks);
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;
  /// Collective over the ranks that run with strata. Takes over those of rank 0's options that count before there is a
  /// context. False, some seconds after Options::start_seconds at the latest, when a rank is missing or runs another
  /// version. complaints() are for the user: who is missing, or whose options differ (empty on ranks that need not
  /// say it).
  bool complete(Options& options);
  const std::vector<std::string>& complaints() const { return complaints_; }
  /// Whether rank 0 will write what all ranks did.
  bool traced() const { return mine_.options.trace != 0; }
  /// Whether strata needs a communicator of its own beside the program's: it might send messages over MPI, or collect
  /// what the ranks did. The same on all ranks.
  bool needs_communicator() const { return mine_.options.machine == 0; }
  /// Takes back the receives for messages that never came; before MPI_Finalize. What was sent to a rank 0 that never
  /// looked may be read until that ends, so this object outlives it.
  void take_back();

private:
  /// The options that all ranks need before they make a context.
  struct Early {
    std::uint64_t context_calls;
    std::uint8_t reproducible, check, trace, calls_follow_mode;
    std::uint32_t machine; ///< that this rank is on, 0: not known; from rank 0: not 0 if shared memory is to link all
  };
  /// Its first message, so its size stays the same in all versions: a longer one would be an error in rank 0.
  struct Hello {
    Early options;
    char version[24];
  };
  struct Verdict {
    Early options;
    std::uint64_t all_here;
  };
  static constexpr std::uint64_t asked = 2; ///< all_here of the question

  bool ask_rank_0(Options& options);
  void hear_all(int seconds);
  bool judge(int seconds);
  bool confirm();
  void swallow_refusals();
  void tell(const Verdict& verdict);
  void compare_options();
  bool is_on_one_machine() const;

  int rank_, ranks_, tag_ = 0;
  bool wants_shared_memory_ = false;
  Hello mine_{};
  Verdict verdict_{};         ///< also where an answer goes that comes after this rank has given up
  std::vector<Hello> hellos_; ///< on rank 0, by rank
  std::vector<MPI_Request> pending_, refusals_;
  std::vector<std::uint64_t> waits_; ///< whether a rank still waits: on rank 0 by rank, elsewhere this rank's
  std::vector<std::int32_t> gone_;   ///< on rank 0: gave up before it asked
  std::vector<std::string> complaints_;
};

} // namespace strata::mpi
