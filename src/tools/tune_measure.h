// SPDX-License-Identifier: BSD-3-Clause
// The timing of strata-tune: all ways of a size in turn, round after round, in one process. Ways that stay far behind
// are left out of the later rounds; a way counts by the median of its rounds, and a round by the rank that took
// longest. Between nodes, and where what strata chooses by itself is one of them, the best have a final; that choice
// and the best then have another contest. Before the final, strata has some seconds of calls by itself, as in a job.
// All is in one launch, because two launches of one way differ by more than two good ways do.
#pragma once

#include "tools/mpi_texts.h"
#include "tools/mpi_timing.h"
#include "tools/tune.h"

namespace strata::tools {

/// Of words that a table may have; the MPI library's own, of others.
tune::Way way_in(const std::string& words);

class Sweep {
public:
  Sweep(const TuneFlags& flags, const strata_mpi_introspection& strata);

  /// Takes the memory for the largest size; false when there is none.
  bool take_memory();
  /// Measures one size; collective. Complete on rank 0; without ways when strata does not serve the ranks.
  MeasuredSize measure(std::uint64_t bytes);

private:
  using AllReduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  enum class Runs { native, way, by_itself };
  struct Contender {
    std::string words; ///< of strata-table(5); of strata by itself none
    Runs runs = Runs::way;
    bool is_left = true;         ///< in the rounds to come
    std::vector<double> seconds; ///< by round; on rank 0
    std::uint64_t calls = 1;     ///< in a batch
  };

  std::vector<std::string> words_of_ways(std::uint64_t bytes) const;
  std::vector<Contender> contenders(std::uint64_t bytes, const std::string& chosen) const;
  double batch(const Contender& contender, std::uint64_t bytes, std::uint64_t calls) const;
  void choose_batches(std::vector<Contender>& contenders, std::uint64_t bytes) const;
  std::uint64_t calls_of_network_batch(const Contender& contender, std::uint64_t bytes, std::uint64_t fewest) const;
  static double best_of(const std::vector<Contender>& contenders);
  void drop_those_behind(std::vector<Contender>& contenders, double times) const;
  void run_round(std::vector<Contender>& contenders, std::uint64_t bytes) const;
  void run_rounds(std::vector<Contender>& contenders, std::uint64_t bytes, double begin, std::size_t most_rounds) const;

  bool takes_part_by_itself() const { return by_itself_ != MPI_COMM_NULL; }
  std::string settle_by_itself(std::uint64_t bytes);
  std::string choose_in_calls(std::uint64_t bytes, double least);
  std::string go_on_by_itself(std::vector<Contender>& contenders, std::uint64_t bytes);
  std::optional<tune::Way> own_way(std::uint64_t bytes) const;
  void keep(std::vector<Contender>& contenders, std::vector<char> left) const;
  void lengthen_batches(std::vector<Contender>& contenders);
  void contest(std::vector<Contender>& contenders, std::vector<char> left, std::uint64_t bytes);
  static double doubt_among(const std::vector<Contender>& contenders);
  static double difference_from(const Contender& best, const std::vector<Contender>& contenders);
  void settle_doubts(std::vector<Contender>& contenders, std::size_t best, std::uint64_t bytes) const;
  static bool is_forced(const Contender& one, const std::string& chosen);
  static bool is_compared(const Contender& one, const std::string& chosen);
  static double median_of(const Contender& one);
  std::vector<char> finalists_of(const std::vector<Contender>& contenders, const std::string& chosen) const;
  std::uint64_t wrong_elements(const Contender& contender, std::uint64_t bytes) const;
  void check_results(OwnChoice& own, const std::vector<Contender>& contenders, std::uint64_t bytes) const;
  OwnChoice judge(std::vector<Contender>& contenders, const std::string& chosen_first, const std::string& chosen,
                  std::uint64_t bytes);

  const TuneFlags& flags_;
  const strata_mpi_introspection& strata_;
  MPI_Comm communicator_ = MPI_COMM_NULL; ///< of the size that is measured: what it needs goes with it
  MPI_Comm by_itself_ = MPI_COMM_NULL;    ///< likewise, and nobody tells strata a way for it; null: does not take part
  bool between_nodes_ = false;
  double uncounted_part_ = 0; ///< of a batch
  bool drops_ = true;         ///< those that are behind
  Pages input_{nullptr, &std::free}, output_{nullptr, &std::free};
};

} // namespace strata::tools
