// SPDX-License-Identifier: BSD-3-Clause
// The timing of strata-perf (see perf.h).
#pragma once

#include "tools/mpi_texts.h"
#include "tools/mpi_timing.h"
#include "tools/perf.h"
#include "tools/perf_memory.h"
#include "tools/perf_values.h"

#include <memory>

namespace strata::tools {

using AllReduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

/// The first two ranks of each node, and what they share. Its functions are collective, and right on rank 0.
class NodePair {
public:
  NodePair();
  ~NodePair();
  NodePair(const NodePair&) = delete;
  NodePair& operator=(const NodePair&) = delete;

  /// Seconds until a flag that one sets in shared memory is seen by the other; 0 when rank 0 is alone in its node.
  double flag_seconds();
  /// Seconds in which each gets the other's vector of `bytes`: it writes its own to shared memory and reads the
  /// other's, by the C library's copies, a piece at a time. The shorter of two times, with few places in turn and
  /// with many. Likewise 0.
  double exchange_seconds(void* to, const void* from, std::uint64_t bytes);

private:
  struct State;
  bool takes_part() const;
  // With so many places in turn.
  double exchange_seconds(void* to, const void* from, std::uint64_t bytes, std::size_t places);
  void exchange(std::byte* to, const std::byte* from, std::uint64_t bytes, std::size_t places);
  double exchanges(std::uint64_t calls, void* to, const void* from, std::uint64_t bytes, std::size_t places);

  std::unique_ptr<State> state_;
};

class Bench {
public:
  Bench(const PerfFlags& flags, const strata_mpi_introspection& strata, PerfMemory& memory);

  /// Takes the memory for the largest size; the error says which there is not.
  Status take_memory();
  /// Whether the MPI library's calls are made on copies in the host's memory.
  bool stages_native() const { return host_input_ != nullptr && !native_takes_device_; }
  /// With --reproducible: makes the communicator for it; false, on all ranks alike, when strata does not serve it.
  bool take_communicator();
  /// With --floor, before the first size; collective. Seconds of a flag, as NodePair says.
  double take_pair();
  /// Measures one size; collective. The row is complete on rank 0.
  PerfRow measure(std::uint64_t bytes);

private:
  /// One kind of call on vectors of one size.
  struct Kind {
    AllReduce function;
    bool is_native;
    std::size_t elements;
    MPI_Comm communicator;
  };
  /// How many calls make a batch, and how many pairs of batches fill the time.
  struct Schedule {
    std::uint64_t calls, pairs;
  };

  void call(const Kind& kind) const;
  void call_staged(const Kind& kind) const;
  void copy(void* to, const void* from, std::size_t bytes) const;
  /// The vectors where the host can write and read them.
  void* host_input() const { return host_input_ ? host_input_.get() : input_.get(); }
  void* host_output() const { return host_output_ ? host_output_.get() : output_.get(); }
  void fill_input(std::size_t elements, int rank);
  double batch(const Kind& kind, std::uint64_t calls) const;
  std::int64_t wrong_elements(const Kind& kind);
  std::string what_runs(const Kind& kind) const;
  Schedule settle(const Kind& native, const Kind& strata) const;
  void fill_inputs(std::size_t elements);

  const PerfFlags& flags_;
  const strata_mpi_introspection& strata_;
  PerfMemory& memory_;
  MPI_Datatype datatype_;
  MPI_Op operation_;
  MPI_Comm reproducible_ = MPI_COMM_NULL; ///< freed by MPI_Finalize
  int rank_ = 0;
  KnownVectors known_;
  std::unique_ptr<NodePair> pair_; ///< with --floor
  bool native_takes_device_ = false;
  Vector input_, output_;
  Vector host_input_, host_output_; ///< null where the host reaches the vectors themselves
};

/// Seconds for all ranks at once to copy `bytes` from one buffer to another. Collective; right on rank 0.
double copy_seconds(PerfMemory& memory, void* to, const void* from, std::uint64_t bytes);

} // namespace strata::tools
