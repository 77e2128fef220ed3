// SPDX-License-Identifier: BSD-3-Clause
// Every kind of communicator, and what a program attaches to one. Prints from rank 0 a line for each, so that two runs
// can be compared.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, copies, deletions;

static int copied(MPI_Comm communicator, int key, void* extra, void* in, void* out, int* flag) {
  (void)communicator, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  ++copies;
  return MPI_SUCCESS;
}

static int deleted(MPI_Comm communicator, int key, void* value, void* extra) {
  (void)communicator, (void)key, (void)value, (void)extra;
  ++deletions;
  return MPI_SUCCESS;
}

// Sums of a few sizes; on an intercommunicator they are the other group's.
static void use(const char* name, MPI_Comm communicator) {
  enum { most = 3000 };
  static int in[most], out[most];
  long total = 0, all = 0;
  if (communicator != MPI_COMM_NULL) {
    int self = 0;
    MPI_Comm_rank(communicator, &self);
    for (int call = 0; call < 5; ++call) {
      const int count = call == 4 ? most : 1 + call * 40;
      for (int i = 0; i < count; ++i)
        in[i] = self * 3 + i + call;
      memset(out, 0, sizeof out);
      MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, communicator);
      for (int i = 0; i < count; ++i)
        total += (long)out[i] * (i % 5 + 1);
    }
  }
  MPI_Reduce(&total, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %ld\n", name, all);
}

static void use_and_free(const char* name, MPI_Comm communicator) {
  use(name, communicator);
  if (communicator != MPI_COMM_NULL) MPI_Comm_free(&communicator);
}

static void topologies(void) {
  MPI_Comm made = MPI_COMM_NULL;
  int dimensions[2] = {0, 0}, periods[2] = {1, 0};
  MPI_Dims_create(ranks, 2, dimensions);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 1, &made);
  MPI_Comm row = MPI_COMM_NULL;
  const int keep[2] = {0, 1};
  MPI_Cart_sub(made, keep, &row);
  use_and_free("row of a grid", row);
  use_and_free("grid", made);
  const int neighbours[1] = {(rank + 1) % ranks}, sources[1] = {(rank + ranks - 1) % ranks};
  const int weights[1] = {1};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, weights, 1, neighbours, weights, MPI_INFO_NULL, 0, &made);
  use_and_free("distributed graph", made);
  int* index = malloc((size_t)ranks * sizeof *index);
  int* edges = malloc((size_t)ranks * sizeof *edges);
  for (int i = 0; i < ranks; ++i)
    index[i] = i + 1, edges[i] = (i + 1) % ranks;
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &made);
  use_and_free("graph", made);
  free(index);
  free(edges);
}

static void groups(void) {
  MPI_Group world, some;
  MPI_Comm made = MPI_COMM_NULL, merged = MPI_COMM_NULL, local = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int without = ranks / 2;
  MPI_Group_excl(world, 1, &without, &some);
  MPI_Comm_create(MPI_COMM_WORLD, some, &made);
  use_and_free("created from a group", made);
  made = MPI_COMM_NULL;
  if (rank != without) MPI_Comm_create_group(MPI_COMM_WORLD, some, 7, &made);
  use_and_free("created by a group", made);
  MPI_Group_free(&some);
  MPI_Group_free(&world);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made);
  use_and_free("of a node", made);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
  if (ranks > 1) {
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &made);
    use("between two groups", made);
    MPI_Intercomm_merge(made, rank % 2, &merged);
    use_and_free("merged", merged);
    MPI_Comm_free(&made);
  }
  use_and_free("split", local);
  use("self", MPI_COMM_SELF);
  use("world", MPI_COMM_WORLD);
}

// Freed while something is under way.
static void outstanding(void) {
  MPI_Comm made;
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int in = rank, sum = 0, got = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % ranks, 3, made, &requests[0]);
  MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, made, &requests[1]);
  for (int call = 0; call < 4; ++call) {
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, made);
    if (all != ranks) sum = -1000;
  }
  MPI_Isend(&rank, 1, MPI_INT, (rank + ranks - 1) % ranks, 3, made, &requests[2]);
  MPI_Comm_free(&made);
  MPI_Waitall(3, requests, statuses);
  int right = sum == ranks * (ranks - 1) / 2 && got == (rank + 1) % ranks, all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("freed with requests under way: %d\n", all);
}

// Names, attributes and handlers are the program's.
static void attachments(void) {
  MPI_Comm made, copy;
  int key, found = 0, length = 0, numbers[2] = {1, 2};
  void* value = NULL;
  char name[MPI_MAX_OBJECT_NAME] = "";
  MPI_Errhandler before, after;
  MPI_Comm_create_keyval(copied, deleted, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Comm_set_attr(made, key, numbers);
  MPI_Comm_set_name(made, "the program's");
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  use("with attachments", made);
  MPI_Comm_dup(made, &copy);
  use("its duplicate", copy);
  MPI_Comm_get_attr(copy, key, &value, &found);
  MPI_Comm_get_name(made, name, &length);
  MPI_Comm_get_errhandler(made, &before);
  MPI_Comm_get_errhandler(copy, &after);
  if (rank == 0)
    printf("attribute %d %d, name '%s', handlers %d %d, ", found, value == numbers, name, before == MPI_ERRORS_RETURN,
           after == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&before);
  MPI_Errhandler_free(&after);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&made);
  MPI_Comm_free_keyval(&key);
  if (rank == 0) printf("copies %d, deletions %d\n", copies, deletions);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  topologies();
  groups();
  outstanding();
  attachments();
  MPI_Finalize();
  return 0;
}
