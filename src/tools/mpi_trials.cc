// SPDX-License-Identifier: BSD-3-Clause
#include "tools/mpi_trials.h"

#include "tools/mpi_texts.h"
#include "tools/mpi_timing.h"

namespace strata::tools {

/// Rank 0's clock ends it for all: a library whose ranks wait for each other's core needs a slice of the scheduler per
/// call.
void finish_trials(const strata_mpi_introspection& strata, MPI_Comm communicator, std::uint64_t bytes, double patience,
                   const CallsOfOneSize& run) {
  // Many calls at a stretch: the question between them leaves caches, and with more ranks than cores the scheduler, as
  // no program does that the trial is to be for.
  constexpr double stretch_seconds = 50e-3;
  const double begin = clock_seconds();
  std::uint64_t stretch = 4;
  for (double seconds = 0; choice_facts(strata, communicator, bytes).value("on_trial", false);) {
    if (seconds > 0) stretch = calls_for(stretch_seconds, seconds / static_cast<double>(stretch), 1, 2 * stretch);
    if (clock_seconds() - begin >= patience) stretch = 0;
    MPI_Bcast(&stretch, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (stretch == 0) return;
    seconds = run(stretch) * static_cast<double>(stretch);
  }
}

} // namespace strata::tools
