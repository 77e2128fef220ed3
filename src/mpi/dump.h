// SPDX-License-Identifier: BSD-3-Clause
// STRATA_DUMP_SIGNAL: a process that gets the signal writes what it waits for to standard error.
#pragma once

#include "base/activity.h"

#include <string>

namespace strata::mpi {

/// Installs the handler, unless the program has one for this signal: then the sentence says so. `activity` must live as
/// long as the process.
std::string dump_on_signal(int signal, const Activity& activity);

/// Before MPI_Finalize takes the activity away.
void stop_dumping();

} // namespace strata::mpi
