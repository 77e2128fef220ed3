// SPDX-License-Identifier: BSD-3-Clause
// A program whose error handler throws: the exception comes out of MPI_Allreduce, through the MPI library and whatever
// stands in front of it, and the program goes on.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>

struct MpiFailed {
  int error_class;
};

extern "C" void throw_it(MPI_Comm*, int* code, ...) {
  MpiFailed failed{};
  MPI_Error_class(*code, &failed.error_class);
  throw failed;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm communicator;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(throw_it, &handler);
  MPI_Comm_set_errhandler(communicator, handler);
  int rank = 0, right = 0, caught = 0;
  MPI_Comm_rank(communicator, &rank);
  for (int call = 0; call < 100; ++call) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, communicator);
    right += sum > 1;
    try {
      MPI_Allreduce(&one, &sum, call % 2 == 0 ? -1 : 1, call % 2 == 0 ? MPI_INT : MPI_DATATYPE_NULL, MPI_SUM,
                    communicator);
    } catch (const MpiFailed& failed) {
      caught += failed.error_class != MPI_SUCCESS;
    }
  }
  if (rank == 0) std::printf("throws: %d right, %d caught\n", right, caught);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&communicator);
  MPI_Finalize();
}
