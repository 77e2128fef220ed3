// SPDX-License-Identifier: BSD-3-Clause
// The C API with buffers in the memory of a GPU, over a bootstrap of MPI's: api LIBSTRATA PART
//
//     types   every kind of element and operation, float16 and bfloat16 among them, which MPI does not have
//     stream  calls that are put into a stream, when each size has had a call before
//     first   the same, and the first call of each size is in the stream
//
// Results are compared, bit for bit, with those of the same calls on buffers in host memory. LIBSTRATA is the path of
// libstrata.so, which is found at run time like the driver. Exits with 77 where there is no GPU.
#include "../../include/strata/strata.h"
#include "gpu_memory.h"
#include "values.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>

enum { most_told = 10 };

struct element {
  const char* name;
  enum strata_element element;
  enum form form;
  size_t bytes;
  int last_operation; // of enum strata_operation, in whose order it has them
};

static struct {
  int (*create)(const struct strata_bootstrap* bootstrap, strata_context_t** context);
  void (*destroy)(strata_context_t* context);
  int (*reduce)(strata_context_t* context, const void* send, void* receive, size_t count, enum strata_element element,
                enum strata_operation operation);
  int (*put)(strata_context_t* context, const void* send, void* receive, size_t count, enum strata_element element,
             enum strata_operation operation, void* stream);
  int (*state)(strata_context_t* context);
  const char* (*last_error)(void);
} strata;
static int rank, ranks, calls, wrong;
static MPI_Comm communicator; // the bootstrap's alone

static void stop(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void succeed(int code) {
  if (code != STRATA_OK) stop(strata.last_error());
}

static int open_strata(const char* path) {
  const struct {
    const char* name;
    void* call;
  } rows[] = {
      {"strata_context_create", &strata.create}, {"strata_context_destroy", &strata.destroy},
      {"strata_allreduce", &strata.reduce},      {"strata_allreduce_on_stream", &strata.put},
      {"strata_context_state", &strata.state},   {"strata_last_error_message", &strata.last_error},
  };
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    void* const found = dlsym(library, rows[i].name);
    if (found == NULL) return 0;
    memcpy(rows[i].call, &found, sizeof found);
  }
  return 1;
}

static int gather(void* user, const void* mine, void* all, size_t bytes) {
  (void)user;
  return bytes > INT_MAX ? 1 : MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, communicator);
}

static void compare(const char* what, const void* seen, const void* expected, size_t bytes) {
  const size_t place = first_difference(seen, expected, bytes);
  ++calls;
  if (place == bytes) return;
  ++wrong;
  if (wrong <= most_told)
    printf("FAILED: rank %d of %d: %s of %zu bytes: other bits than on the host from byte %zu on\n", rank, ranks, what,
           bytes, place);
}

static void types(strata_context_t* context) {
  static const struct element rows[] = {
      {"int8", STRATA_INT8, whole_form, 1, STRATA_BITWISE_XOR},
      {"uint8", STRATA_UINT8, whole_form, 1, STRATA_BITWISE_XOR},
      {"int16", STRATA_INT16, whole_form, 2, STRATA_BITWISE_XOR},
      {"uint16", STRATA_UINT16, whole_form, 2, STRATA_BITWISE_XOR},
      {"int32", STRATA_INT32, whole_form, 4, STRATA_BITWISE_XOR},
      {"uint32", STRATA_UINT32, whole_form, 4, STRATA_BITWISE_XOR},
      {"int64", STRATA_INT64, whole_form, 8, STRATA_BITWISE_XOR},
      {"uint64", STRATA_UINT64, whole_form, 8, STRATA_BITWISE_XOR},
      {"float16", STRATA_FLOAT16, float16_form, 2, STRATA_MAXIMUM},
      {"bfloat16", STRATA_BFLOAT16, bfloat16_form, 2, STRATA_MAXIMUM},
      {"float32", STRATA_FLOAT32, float32_form, 4, STRATA_MAXIMUM},
      {"float64", STRATA_FLOAT64, float64_form, 8, STRATA_MAXIMUM},
  };
  enum { most_elements = 70001, most_bytes = most_elements * 8 };
  static const size_t counts[] = {1, 1001, most_elements};
  static unsigned char values[most_bytes], seen[most_bytes], expected[most_bytes];
  struct memory send = allocate(device_memory, most_bytes), receive = allocate(device_memory, most_bytes);
  if (send.begin == NULL || receive.begin == NULL) stop("no memory for a call");
  for (size_t e = 0; e < sizeof rows / sizeof *rows; ++e)
    for (int operation = STRATA_SUM; operation <= rows[e].last_operation; ++operation)
      for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        const size_t bytes = counts[c] * rows[e].bytes;
        const int in_place = calls % 2;
        fill(values, counts[c], rows[e].form, rows[e].bytes, (uint64_t)calls * 1000003 + (uint64_t)rank);
        if (!write_memory(in_place ? &receive : &send, 0, values, bytes)) stop("the driver cannot copy to a buffer");
        succeed(strata.reduce(context, in_place ? STRATA_IN_PLACE : send.begin, receive.begin, counts[c],
                              rows[e].element, (enum strata_operation)operation));
        if (!read_memory(seen, &receive, 0, bytes)) stop("the driver cannot copy from a buffer");
        succeed(strata.reduce(context, values, expected, counts[c], rows[e].element, (enum strata_operation)operation));
        compare(rows[e].name, seen, expected, bytes);
      }
  release(&send);
  release(&receive);
}

// All of it is put into the stream, and the program waits once, in the end.
static void on_stream(strata_context_t* context, int every_size_had_a_call) {
  enum { rounds = 8, most_elements = 1000003, most_bytes = most_elements * sizeof(float) };
  static const size_t counts[rounds] = {1, 1000, 50001, most_elements, 1000, 1, most_elements, 50001};
  struct memory mine[rounds], seen[rounds];
  struct memory send = allocate(device_memory, most_bytes), receive = allocate(device_memory, most_bytes);
  unsigned char* const expected = malloc(most_bytes);
  int put = send.begin != NULL && receive.begin != NULL && expected != NULL;
  for (int round = 0; round < rounds; ++round) {
    mine[round] = allocate(pinned_memory, most_bytes);
    seen[round] = allocate(pinned_memory, most_bytes);
    put = put && mine[round].begin != NULL && seen[round].begin != NULL;
  }
  if (!put) stop("no memory for the calls");
  for (int round = 0; round < rounds; ++round)
    fill(mine[round].begin, counts[round], float32_form, sizeof(float), (uint64_t)(round * 64 + rank));
  for (int round = 0; round < rounds && every_size_had_a_call; ++round) {
    if (!write_memory(&send, 0, mine[round].begin, counts[round] * sizeof(float))) stop("the driver cannot copy");
    succeed(strata.reduce(context, send.begin, receive.begin, counts[round], STRATA_FLOAT32, STRATA_SUM));
  }
  for (int round = 0; round < rounds; ++round) {
    const size_t bytes = counts[round] * sizeof(float);
    const int in_place = round % 2;
    unsigned char* const from = in_place ? receive.begin : send.begin;
    put = put && gpu.copy(place_of(from), place_of(mine[round].begin), bytes, gpu_stream) == 0;
    succeed(strata.put(context, in_place ? STRATA_IN_PLACE : from, receive.begin, counts[round], STRATA_FLOAT32,
                       STRATA_SUM, gpu_stream));
    put = put && gpu.copy(place_of(seen[round].begin), place_of(receive.begin), bytes, gpu_stream) == 0;
  }
  if (!put || gpu.synchronise(gpu_stream) != 0) stop("the driver cannot copy in the stream");
  succeed(strata.state(context));
  for (int round = 0; round < rounds; ++round) {
    succeed(strata.reduce(context, mine[round].begin, expected, counts[round], STRATA_FLOAT32, STRATA_SUM));
    compare("a sum in a stream", seen[round].begin, expected, counts[round] * sizeof(float));
    release(&mine[round]);
    release(&seen[round]);
  }
  free(expected);
  release(&send);
  release(&receive);
}

static int everywhere(int mine) {
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  const int has_driver = open_gpu_driver();
  int level = MPI_THREAD_SINGLE, in_node = 0, all_wrong = 0;
  MPI_Comm node;
  strata_context_t* context = NULL;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &in_node);
  MPI_Comm_free(&node);
  if (argc != 3) stop("usage: api LIBSTRATA types|stream|first");
  if (!everywhere(has_driver && choose_gpu(in_node))) {
    if (rank == 0) printf("no GPU here\n");
    MPI_Finalize();
    return 77;
  }
  if (!open_strata(argv[1])) stop("libstrata.so cannot be opened");
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  const struct strata_bootstrap bootstrap = {
      .rank = rank, .ranks = ranks, .all_gather = gather, .threads = level == MPI_THREAD_MULTIPLE};
  succeed(strata.create(&bootstrap, &context));
  if (strcmp(argv[2], "types") == 0)
    types(context);
  else if (bootstrap.threads || ranks == 1)
    on_stream(context, strcmp(argv[2], "stream") == 0);
  else if (rank == 0)
    printf("%s: left out, this MPI library has no MPI_THREAD_MULTIPLE\n", argv[2]);
  strata.destroy(context);
  MPI_Comm_free(&communicator);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d results by %d ranks, %d are wrong\n", argv[2], calls, ranks, all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
