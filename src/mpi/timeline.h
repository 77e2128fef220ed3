// SPDX-License-Identifier: BSD-3-Clause
// STRATA_TRACE: one file with what all ranks recorded, by one clock.
#pragma once

namespace strata::mpi {

struct State;

/// At MPI_Finalize, if the job is traced; collective. Rank 0 takes the ranks' parts one after the other and writes
/// them, so that no rank holds more than its own. What goes wrong with the file is one line of the log.
void write_timeline(State& state);

} // namespace strata::mpi
