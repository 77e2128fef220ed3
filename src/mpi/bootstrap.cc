// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/bootstrap.h"

#include "mpi/state.h"

#include <sched.h>

#include <limits>

namespace strata::mpi {
namespace {

/// The transport over MPI and the collection of timelines use the tags below it on the same communicator.
constexpr int first_native_tag = 16;

// Any call that may receive makes the MPI library progress; a probe for a tag with which nothing was sent does only
// that. It takes no message, but one that it finds keeps it from progress: then another tag is looked for from now on.
// Not on MPI_COMM_SELF: there MPICH looks into a queue of its own and lets nothing progress. Of one rank, because a
// program may have asserted that it asks for no other (MPI 4.0, 7.4.4, mpi_assert_no_any_source).
void let_mpi_progress(void* pointer) {
  State& now = *static_cast<State*>(pointer);
  const int tag = now.unused_tag.load(std::memory_order_relaxed);
  int found = 0;
  (void)PMPI_Iprobe(now.probed_rank, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  if (found != 0) now.unused_tag.store(tag > 1 ? tag - 1 : 32767, std::memory_order_relaxed);
}

} // namespace

CommunicatorBootstrap::CommunicatorBootstrap(MPI_Comm communicator, State& now)
    : communicator_(communicator), now_(now) {
  int value = 0;
  if (PMPI_Comm_rank(communicator, &value) == MPI_SUCCESS) rank_ = value;
  if (PMPI_Comm_size(communicator, &value) == MPI_SUCCESS) ranks_ = value;
}

std::string CommunicatorBootstrap::name() const {
  char text[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  return PMPI_Comm_get_name(communicator_, text, &length) == MPI_SUCCESS ? std::string(text) : std::string();
}

Status CommunicatorBootstrap::all_gather(const void* mine, void* all, std::size_t bytes) {
  if (bytes > std::numeric_limits<int>::max())
    return Error{ErrorKind::peer, "an exchange is too long for the MPI library's all-gather"}; // the same on all ranks
  const int count = static_cast<int>(bytes);
  if (PMPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, communicator_) == MPI_SUCCESS) return ok();
  return Error{ErrorKind::peer, "the MPI library's all-gather failed"};
}

void CommunicatorBootstrap::wait_for_all(engine::IdleHook meanwhile) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(communicator_, &request) != MPI_SUCCESS) return; // the exchange after it tells what is wrong
  for (int all_here = 0; PMPI_Test(&request, &all_here, MPI_STATUS_IGNORE) == MPI_SUCCESS && all_here == 0;) {
    if (meanwhile.function != nullptr) meanwhile.function(meanwhile.state);
    ::sched_yield();
  }
}

std::string CommunicatorBootstrap::native_name() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  return PMPI_Get_library_version(text, &length) == MPI_SUCCESS ? tune::mpi_name_from(text) : std::string();
}

int CommunicatorBootstrap::world_rank_of(std::int32_t peer) {
  if (peer == looked_for_) return world_rank_;
  MPI_Group here = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  looked_for_ = peer;
  world_rank_ = MPI_UNDEFINED;
  if (PMPI_Comm_group(communicator_, &here) != MPI_SUCCESS) return world_rank_;
  if (PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
    const int there = peer;
    PMPI_Group_translate_ranks(here, 1, &there, world, &world_rank_);
    PMPI_Group_free(&world);
  }
  PMPI_Group_free(&here);
  return world_rank_;
}

bool CommunicatorBootstrap::native_send(std::int32_t peer, int tag, const void* data, std::size_t bytes) {
  const int rank = world_rank_of(peer);
  return now_.world != MPI_COMM_NULL && rank != MPI_UNDEFINED &&
         PMPI_Send(data, static_cast<int>(bytes), MPI_BYTE, rank, first_native_tag + tag, now_.world) == MPI_SUCCESS;
}

bool CommunicatorBootstrap::native_receive(std::int32_t peer, int tag, void* data, std::size_t bytes) {
  const int rank = world_rank_of(peer);
  return now_.world != MPI_COMM_NULL && rank != MPI_UNDEFINED &&
         PMPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, rank, first_native_tag + tag, now_.world,
                   MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

engine::IdleHook CommunicatorBootstrap::idle_hook() const { return {let_mpi_progress, &now_}; }

} // namespace strata::mpi
