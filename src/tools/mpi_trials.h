// SPDX-License-Identifier: BSD-3-Clause
// The first calls of a size try one way after the other; what stays is what a tool is to measure.
#pragma once

#include <mpi.h>

#include "strata/strata_mpi.h"

#include <cstdint>
#include <functional>

namespace strata::tools {

/// Seconds of each of so many calls, made at a stretch, on this rank.
using CallsOfOneSize = std::function<double(std::uint64_t calls)>;

/// Makes calls of `bytes` on the communicator, a few at least and for `least` seconds, until strata tries no more ways,
/// or until rank 0 has waited for `patience` seconds. Collective over MPI_COMM_WORLD.
void finish_trials(const strata_mpi_introspection& strata, MPI_Comm communicator, std::uint64_t bytes, double least,
                   double patience, const CallsOfOneSize& run);

/// While one lives, ways on trial may cost half of the time of calls on its communicator, so that a choice comes soon;
/// unless STRATA_TRIAL says what they may cost. Trials that begin later are as in a job: strata may come to try ways
/// anew while a tool measures what it chose. Made and destroyed on all ranks, between the same calls.
class HastyTrials {
public:
  HastyTrials(const strata_mpi_introspection& strata, MPI_Comm communicator);
  ~HastyTrials();
  HastyTrials(const HastyTrials&) = delete;
  HastyTrials& operator=(const HastyTrials&) = delete;

private:
  const strata_mpi_introspection& strata_;
  MPI_Comm communicator_;
  unsigned percent_before_ = 0; ///< 0: it was left
};

} // namespace strata::tools
