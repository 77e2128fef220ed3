// SPDX-License-Identifier: BSD-3-Clause
// A context's bootstrap over the program's own communicator: collectives of the MPI library, which all ranks enter at
// the same place of their sequence of calls, because each is inside an MPI_Allreduce on that communicator.
#pragma once

#include "comm/bootstrap.h"

#include <mpi.h>

extern "C" int strata_mpi_communicator_gone(MPI_Comm communicator, int key, void* attached, void* extra);

namespace strata::mpi {

struct State;

class CommunicatorBootstrap final : public comm::Bootstrap {
public:
  /// Takes no memory.
  CommunicatorBootstrap(MPI_Comm communicator, State& now);
  std::int32_t rank() const override { return rank_; }
  std::int32_t ranks() const override { return ranks_; }
  std::string name() const override;
  Status all_gather(const void* mine, void* all, std::size_t bytes) override;
  void wait_for_all(engine::IdleHook meanwhile) override;
  engine::IdleHook idle_hook() const override;
  bool has_native() const override { return true; }
  std::string native_name() const override;
  /// On strata's own communicator: a receive that the program has posted on its own might take these messages.
  bool native_send(std::int32_t peer, int tag, const void* data, std::size_t bytes) override;
  bool native_receive(std::int32_t peer, int tag, void* data, std::size_t bytes) override;

private:
  int world_rank_of(std::int32_t peer);

  MPI_Comm communicator_;
  State& now_;
  std::int32_t rank_ = 0;
  std::int32_t ranks_ = 1;
  /// Of world_rank_of(): what it was asked last, and said. Looking takes as long as a short message.
  std::int32_t looked_for_ = -1;
  int world_rank_ = MPI_UNDEFINED;
};

} // namespace strata::mpi
