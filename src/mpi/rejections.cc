// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rejections.h"

namespace strata::mpi {
namespace {

/// While it lives, errors on a communicator are returned, whatever the program wants later.
class ReturnedErrors {
public:
  explicit ReturnedErrors(MPI_Comm communicator) : communicator_(communicator) {
    known_ = PMPI_Comm_get_errhandler(communicator, &before_) == MPI_SUCCESS;
    PMPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  }
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;
  ~ReturnedErrors() {
    if (!known_) return;
    PMPI_Comm_set_errhandler(communicator_, before_);
    PMPI_Errhandler_free(&before_);
  }

private:
  MPI_Comm communicator_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
  bool known_ = false;
};

Rejections find_rejections(const State& now) {
  Rejections found;
  MPI_Comm one = MPI_COMM_NULL;
  // Not a duplicate: that would run the program's functions for the attributes of MPI_COMM_SELF.
  if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &one) != MPI_SUCCESS) return found;
  PMPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
  const ReturnedErrors on_world(MPI_COMM_WORLD); // where Open MPI 4.1 raises the error of equal buffers
  int values[2] = {1, 1};
  const auto rejects = [&](int count) {
    return now.native_allreduce(values, values, count, MPI_INT, MPI_SUM, one) != MPI_SUCCESS;
  };
  found.equal_buffers_of_one = rejects(1); // Open MPI 4.1 rejects only more than one
  found.equal_buffers = rejects(2);
  PMPI_Comm_free(&one);
  return found;
}

} // namespace

bool rejects_equal_buffers(State& state, std::int64_t count) {
  std::call_once(state.rejections_known, [&] { state.rejections = find_rejections(state); });
  return count == 1 ? state.rejections.equal_buffers_of_one : state.rejections.equal_buffers;
}

} // namespace strata::mpi
