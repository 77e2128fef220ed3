// SPDX-License-Identifier: BSD-3-Clause
#include "tools/mpi_timing.h"

#include "base/rounding.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace strata::tools {

int rank_in_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int ranks_in_world() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

void end_job(const std::string& tool, const std::string& why) {
  std::fprintf(stderr, "%s: rank %d: %s\n", tool.c_str(), rank_in_world(), why.c_str());
  // A launcher that learns of the end first may close what it has not read yet (MPICH's Hydra, one job in ten).
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort(); // not reached; MPI does not promise that
}

Pages pages(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  return {static_cast<std::byte*>(std::aligned_alloc(page, rounded_up(bytes, page))), &std::free};
}

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t calls_for(double seconds, double seconds_per_call, std::uint64_t fewest, std::uint64_t most) {
  const double calls = seconds / std::max(seconds_per_call, 1e-9);
  return calls >= static_cast<double>(most) ? most : std::max(fewest, static_cast<std::uint64_t>(calls));
}

std::vector<double> longest_of_all(const std::vector<double>& mine) {
  std::vector<double> longest(mine.size());
  MPI_Reduce(mine.data(), longest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return longest;
}

} // namespace strata::tools
