// SPDX-License-Identifier: BSD-3-Clause
// A program of MPI 4 that has sessions before and beside MPI_Init, or without it.
//
//     sessions [alone]     alone: MPI_Init is never called
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void use(const char* name, MPI_Comm communicator) {
  int rank, ranks, sum = 0, right = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  for (int call = 0; call < 5; ++call) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, communicator);
    right &= sum == ranks * (ranks - 1) / 2;
  }
  if (rank == 0) printf("%s: %d\n", name, right);
}

static MPI_Comm communicator_of(MPI_Session session) {
  MPI_Group group;
  MPI_Comm made;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&group);
  return made;
}

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Comm made = communicator_of(session);
  if (argc > 1 && strcmp(argv[1], "alone") == 0) {
    use("without MPI_Init", made);
    MPI_Comm_free(&made);
  } else {
    use("before MPI_Init", made);
    MPI_Init(&argc, &argv);
    use("beside MPI_Init", made);
    use("world", MPI_COMM_WORLD);
    MPI_Comm_free(&made);
    MPI_Finalize();
  }
  MPI_Session_finalize(&session);
  return 0;
}
