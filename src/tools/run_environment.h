// SPDX-License-Identifier: BSD-3-Clause
// Where a tool runs: in which installation, and under which launcher of MPI programs.
#pragma once

#include "base/result.h"

#include <string>
#include <vector>

namespace strata::tools {

enum class Family { unknown, openmpi, mpich };

/// What a launcher (mpirun, srun, …) told this process.
struct Launch {
  bool launched = false;
  int rank = -1; ///< -1: the launcher did not say
  Family family = Family::unknown;
};
Launch launch();

/// The folder that holds this program.
std::string program_folder();

/// The folders where this installation's libraries may be: beside the program's folder first, for an installation that
/// was moved and for the build tree, then where configure was told to install them.
std::vector<std::string> library_folders();

/// libstrata-mpi.so of this installation; the error says where it was looked for.
Result<std::string> preload_library();

/// Puts `library` in front of what is preloaded into the programs that this process starts.
void preload(const std::string& library);

/// Sets STRATA_`name` for this process and those that it starts.
void set_option(const std::string& name, const std::string& value);
/// Whether the environment has STRATA_`name`; an empty value is none.
bool option_is_set(const std::string& name);

/// The program of `tool` that enters MPI: <library folder>/strata/<tool>-<soname of the MPI library>. Of several, the
/// one for the launcher's family.
Result<std::string> mpi_program(const std::string& tool);

/// Replaces this process by `program`; returns only when that failed, with the reason.
Error start(const std::string& program, char** arguments);

} // namespace strata::tools
