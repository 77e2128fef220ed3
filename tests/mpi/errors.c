// SPDX-License-Identifier: BSD-3-Clause
// Calls with arguments that are not valid: prints from rank 0 the class of the error that each gives, or what it
// computes, so that two runs can be compared. Also what is valid but rare.
//
//     errors [all]        also those that MPICH 4.0 does not survive
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, ranks, handled, all;

static void note(MPI_Comm* communicator, int* code, ...) {
  (void)communicator;
  (void)code;
  ++handled;
}

static void tell(const char* what, int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  char text[MPI_MAX_ERROR_STRING] = "success";
  int length;
  if (class != MPI_SUCCESS) MPI_Error_string(class, text, &length);
  if (rank == 0) printf("%s: %s\n", what, text);
}

static void tell_value(const char* what, int code, const int* value) {
  tell(what, code);
  if (rank == 0) printf("%s: %d\n", what, *value);
}

// What no MPI library may accept.
static void invalid(MPI_Comm communicator) {
  int in[4] = {1, 2, 3, 4}, out[4] = {0};
  float real = 1, reals = 0;
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  tell("all null", MPI_Allreduce(in, out, 4, MPI_DATATYPE_NULL, MPI_OP_NULL, MPI_COMM_NULL));
  tell("null communicator", MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  tell("null type", MPI_Allreduce(in, out, 4, MPI_DATATYPE_NULL, MPI_SUM, communicator));
  tell("null operation", MPI_Allreduce(in, out, 4, MPI_INT, MPI_OP_NULL, communicator));
  tell("bitwise and of floats", MPI_Allreduce(&real, &reals, 1, MPI_FLOAT, MPI_BAND, communicator));
  if (all) tell("logical or of doubles", MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_LOR, communicator));
  tell("exclusive or of floats", MPI_Allreduce(&real, &reals, 1, MPI_FLOAT, MPI_BXOR, communicator));
  tell("place of the smallest integer", MPI_Allreduce(in, out, 1, MPI_INT, MPI_MINLOC, communicator));
  tell("sum of bytes", MPI_Allreduce(in, out, 4, MPI_BYTE, MPI_SUM, communicator));
  tell("sum of pairs", MPI_Allreduce(in, out, 1, MPI_2INT, MPI_SUM, communicator));
  tell("type that is not committed", MPI_Allreduce(in, out, 1, pair, MPI_SUM, communicator));
  MPI_Type_commit(&pair);
  tell("sum of a derived type", MPI_Allreduce(in, out, 1, pair, MPI_SUM, communicator));
  tell("result in place", MPI_Allreduce(in, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, communicator));
  MPI_Type_free(&pair);
}

// What is valid, or what some MPI libraries accept: the result counts too.
static void rare(MPI_Comm communicator) {
  int in[4] = {1, 2, 3, 4}, out[4] = {0};
  tell_value("sum", MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, communicator), &out[3]);
  memset(out, 0, sizeof out);
  tell_value("no elements", MPI_Allreduce(in, out, 0, MPI_INT, MPI_SUM, communicator), out);
  tell_value("no elements, no buffers", MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, communicator), out);
  tell_value("same buffer twice", MPI_Allreduce(in, in, 4, MPI_INT, MPI_SUM, communicator), in);
  out[0] = rank;
  tell_value("in place", MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_MAX, communicator), out);
  out[0] = rank; // in place here, not there
  tell_value("in place on one rank",
             MPI_Allreduce(rank == 0 ? MPI_IN_PLACE : &rank, out, 1, MPI_INT, MPI_MAX, communicator), out);
  tell_value("bytes", MPI_Allreduce(in, out, 4, MPI_BYTE, MPI_BOR, communicator), out);
  int yes = rank == 0, any = 0;
  tell_value("logical", MPI_Allreduce(&yes, &any, 1, MPI_C_BOOL, MPI_LOR, communicator), &any);

  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &between);
  for (int call = 0; call < 3; ++call) // past the call at which a context would be made
    tell_value("sum of the other group", MPI_Allreduce(&rank, out, 1, MPI_INT, MPI_SUM, between), out);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

// MPI forbids equal buffers; where the library takes them all the same, one rank may have them and the others not.
static void equal_on_one_rank(void) {
  for (int call = 0; call < 6; ++call) {
    int out = rank + call;
    tell_value("equal on one rank",
               MPI_Allreduce(rank == call % ranks ? &out : &rank, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), &out);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  all = argc > 1 && strcmp(argv[1], "all") == 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc > 1 && strcmp(argv[1], "equal") == 0) {
    equal_on_one_rank();
    MPI_Finalize();
    return 0;
  }
  invalid(MPI_COMM_WORLD); // before the first call that is valid
  for (int call = 0; call < 3; ++call)
    rare(MPI_COMM_WORLD);
  invalid(MPI_COMM_WORLD); // after strata has taken over

  MPI_Comm own;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_create_errhandler(note, &handler);
  MPI_Comm_set_errhandler(own, handler);
  invalid(own);
  rare(own);
  if (all) {
    int in = 1, out = 0;
    tell("negative count", MPI_Allreduce(&in, &out, -1, MPI_INT, MPI_SUM, own));
  }
  if (rank == 0) printf("errors that the communicator's handler saw: %d\n", handled);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&own);
  MPI_Finalize();
  return 0;
}
