// SPDX-License-Identifier: BSD-3-Clause
// The timing of strata-tune: all ways of a size in turn, round after round, in one process. Ways that stay far behind
// are left out of the later rounds; a way counts by the median of its rounds, and a round by the rank that took
// longest.
#pragma once

#include "tools/mpi_texts.h"
#include "tools/mpi_timing.h"
#include "tools/tune.h"

namespace strata::tools {

class Sweep {
public:
  Sweep(const TuneFlags& flags, const strata_mpi_introspection& strata);

  /// Takes the memory for the largest size; false when there is none.
  bool take_memory();
  /// Measures one size; collective. Complete on rank 0; without ways when strata does not serve the ranks.
  MeasuredSize measure(std::uint64_t bytes);

private:
  using AllReduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  struct Contender {
    std::string words; ///< of strata-table(5)
    bool is_native;
    bool is_left = true;         ///< in the rounds to come
    std::vector<double> seconds; ///< by round; on rank 0
    std::uint64_t calls = 1;     ///< in a batch
  };

  std::vector<std::string> words_of_ways(std::uint64_t bytes) const;
  std::vector<Contender> contenders(std::uint64_t bytes) const;
  double batch(const Contender& contender, std::uint64_t bytes, std::uint64_t calls) const;
  void choose_batches(std::vector<Contender>& contenders, std::uint64_t bytes) const;
  std::uint64_t calls_of_network_batch(const Contender& contender, std::uint64_t bytes, std::uint64_t fewest) const;
  static double best_of(const std::vector<Contender>& contenders);
  void drop_those_behind(std::vector<Contender>& contenders, double times) const;
  void run_round(std::vector<Contender>& contenders, std::uint64_t bytes) const;

  const TuneFlags& flags_;
  const strata_mpi_introspection& strata_;
  MPI_Comm communicator_ = MPI_COMM_NULL; ///< of the size that is measured: what it needs goes with it
  bool between_nodes_ = false;
  Pages input_{nullptr, &std::free}, output_{nullptr, &std::free};
};

} // namespace strata::tools
