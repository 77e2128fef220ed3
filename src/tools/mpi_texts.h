// SPDX-License-Identifier: BSD-3-Clause
// What tools that are MPI programs ask of strata and of the MPI library. Nothing here reduces, so that strata does not
// meet its own tools.
#pragma once

#include <mpi.h>

#include "strata/strata_mpi.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace strata::tools {

/// describe_context of strata_mpi.h; collective. An empty object when the communicator has no context.
nlohmann::json context_facts(const strata_mpi_introspection& strata, MPI_Comm communicator);
/// describe_choice.
nlohmann::json choice_facts(const strata_mpi_introspection& strata, MPI_Comm communicator, std::uint64_t bytes);
/// describe_statistics.
nlohmann::json statistics_facts(const strata_mpi_introspection& strata);

/// describe_links: the text of a profile, or nothing.
std::string links_profile(const strata_mpi_introspection& strata, MPI_Comm communicator);

/// describe_pairs.
nlohmann::json pair_facts(const strata_mpi_introspection& strata, MPI_Comm communicator);

/// The first line of what the MPI library says of itself.
std::string mpi_library_version();

/// The texts of all ranks of MPI_COMM_WORLD, on rank 0; empty elsewhere.
std::vector<std::string> gather_texts(const std::string& mine, int ranks);

} // namespace strata::tools
