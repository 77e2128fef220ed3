// SPDX-License-Identifier: BSD-3-Clause
#include "tools/mpi_timing.h"

#include "base/rounding.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>

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
