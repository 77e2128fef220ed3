// SPDX-License-Identifier: BSD-3-Clause
// A PMPI tool that asks strata for its statistics in MPI_Finalize, from rank 0: "teller: {...}". Built as a shared
// library by the test that uses it.
#include <mpi.h>
#include <stdio.h>
#include <strata/strata_mpi.h>

int MPI_Finalize(void) {
  static char text[65536];
  const struct strata_mpi_introspection* const strata = strata_mpi_introspect();
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && strata != NULL && strata->describe_statistics(text, sizeof text) <= sizeof text)
    printf("teller: %s\n", text);
  fflush(stdout);
  return PMPI_Finalize();
}
