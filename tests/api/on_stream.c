/* SPDX-License-Identifier: BSD-3-Clause */
/* A C99 program without MPI that puts its all-reduces into streams of the emulated device: on_stream MODULE. It opens
 * the device as a real program opens its accelerator's library. Ranks are forked processes. Prints TAP. */
#define _POSIX_C_SOURCE 200809L
#include "../../src/device/emulated/program.h"
#include "forked.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_count = 50000, rounds = 5 };

static int number = 0;
static const char* module_file;
static const struct strata_emulated_device* accelerator;

static int complain(const char* what) {
  fprintf(stderr, "# %s: %s\n", what, strata_last_error_message());
  return 1;
}

static int open_device(void) {
  void* const module = dlopen(module_file, RTLD_NOW | RTLD_LOCAL);
  strata_emulated_device_entry entry = NULL;
  if (module != NULL) *(void**)&entry = dlsym(module, "strata_emulated_device_v1");
  if (entry != NULL) accelerator = entry();
  return accelerator != NULL;
}

static int context_of(const struct strata_bootstrap* bootstrap, int threads, strata_context_t** context) {
  struct strata_bootstrap own = *bootstrap;
  own.threads = threads;
  return open_device() && strata_context_create(&own, context) == STRATA_OK;
}

static int value(int rank, int k, int round) { return (rank * 31 + k * 7 + round) % 1000; }

static int wrong(const int* seen, int count, int ranks, int round) {
  for (int k = 0; k < count; ++k) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r)
      sum += value(r, k, round);
    if (seen[k] == sum) continue;
    fprintf(stderr, "# round %d: element %d of %d is %d instead of %d\n", round, k, count, seen[k], sum);
    return 1;
  }
  return 0;
}

/* Everything is put into one stream, and nobody waits but at the end. */
static int in_order(const struct strata_bootstrap* bootstrap) {
  static const int counts[rounds] = {1, 1000, most_count, 1000, most_count};
  static int mine[rounds][most_count], seen[rounds][most_count];
  strata_context_t* context = NULL;
  int faults = 0;
  if (!context_of(bootstrap, 1, &context)) return complain("create");
  void* const stream = accelerator->make_stream(0);
  int* const send = accelerator->allocate(emulated_device, 0, sizeof mine[0]);
  int* const receive = accelerator->allocate(emulated_device, 0, sizeof mine[0]);
  for (int round = 0; round < rounds; ++round) {
    const int in_place = round == 3;
    const size_t bytes = (size_t)counts[round] * sizeof(int);
    for (int k = 0; k < counts[round]; ++k)
      mine[round][k] = value(bootstrap->rank, k, round);
    faults += accelerator->enqueue_copy(stream, in_place ? receive : send, mine[round], bytes);
    if (strata_allreduce_on_stream(context, in_place ? STRATA_IN_PLACE : send, receive, (size_t)counts[round],
                                   STRATA_INT32, STRATA_SUM, stream))
      return complain("all-reduce on a stream");
    faults += accelerator->enqueue_copy(stream, seen[round], receive, bytes);
  }
  /* A call that blocks runs behind them all, and may take what the last has left. */
  int last = 0, sums = 0;
  if (strata_allreduce(context, receive, &last, 1, STRATA_INT32, STRATA_SUM)) return complain("all-reduce");
  for (int r = 0; r < bootstrap->ranks; ++r)
    sums += value(r, 0, rounds - 1);
  faults += last != sums * bootstrap->ranks;
  faults += accelerator->synchronise(stream);
  for (int round = 0; round < rounds; ++round)
    faults += wrong(seen[round], counts[round], bootstrap->ranks, round);
  if (strata_context_state(context) != STRATA_OK) return complain("state");
  strata_context_destroy(context);
  accelerator->destroy_stream(stream);
  return faults != 0;
}

static int refused(int code, int wanted, const char* word) {
  if (code == wanted && strstr(strata_last_error_message(), word) != NULL) return 1;
  fprintf(stderr, "# code %d, \"%s\" does not speak of %s\n", code, strata_last_error_message(), word);
  return 0;
}

static int without_threads(const struct strata_bootstrap* bootstrap) {
  strata_context_t* context = NULL;
  int fine = context_of(bootstrap, 0, &context), one = 1, sum = 0;
  void* const stream = fine ? accelerator->make_stream(0) : NULL;
  fine = fine && refused(strata_allreduce_on_stream(context, &one, &sum, 1, STRATA_INT32, STRATA_SUM, stream),
                         STRATA_ERR_UNSUPPORTED, "threads");
  fine = fine && strata_allreduce(context, &one, &sum, 1, STRATA_INT32, STRATA_SUM) == STRATA_OK;
  strata_context_destroy(context);
  return !fine || sum != bootstrap->ranks;
}

/* In a stream that a graph captures. */
static int captured(const struct strata_bootstrap* bootstrap) {
  strata_context_t* context = NULL;
  int fine = setenv("STRATA_DEVICE", "emulated:captures", 1) == 0 && context_of(bootstrap, 1, &context), sum = 0;
  void* const stream = fine ? accelerator->make_stream(0) : NULL;
  int* const send = fine ? accelerator->allocate(emulated_device, 0, sizeof *send) : NULL;
  const int one = 1;
  fine = fine && accelerator->copy(send, &one, sizeof one) == 0;
  fine = fine && refused(strata_allreduce_on_stream(context, send, &sum, 1, STRATA_INT32, STRATA_SUM, stream),
                         STRATA_ERR_UNSUPPORTED, "captured into a graph");
  /* Nothing has failed, and nothing is in the stream. */
  fine = fine && strata_context_state(context) == STRATA_OK && accelerator->synchronise(stream) == 0 && sum == 0;
  fine = fine && strata_allreduce(context, send, &sum, 1, STRATA_INT32, STRATA_SUM) == STRATA_OK;
  strata_context_destroy(context);
  return !fine || sum != bootstrap->ranks;
}

/* Lines of a file, rewound, with these words. */
static int lines_with(FILE* file, const char* words) {
  char line[4096];
  int lines = 0;
  rewind(file);
  while (fgets(line, sizeof line, file) != NULL)
    lines += strstr(line, words) != NULL;
  return lines;
}

static void tell(FILE* file) {
  char line[4096];
  rewind(file);
  while (fgets(line, sizeof line, file) != NULL)
    fprintf(stderr, "# %s", line);
}

/* A device whose memory strata cannot tell from the host's: the host's is as ever, and each process says so once. */
static int indistinct(const struct strata_bootstrap* bootstrap) {
  FILE* const said = tmpfile();
  const int errors = dup(STDERR_FILENO);
  strata_context_t* context = NULL;
  int fine = said != NULL && setenv("STRATA_DEVICE", "emulated:too-old", 1) == 0 &&
             setenv("STRATA_LOG", "choice", 1) == 0 && open_device() && accelerator->make_stream(0) != NULL;
  fine = fine && dup2(fileno(said), STDERR_FILENO) >= 0;
  for (int round = 0; fine && round < 2; ++round) {
    static int mine[most_count], seen[most_count];
    for (int k = 0; k < most_count; ++k)
      mine[k] = value(bootstrap->rank, k, round);
    fine = strata_context_create(bootstrap, &context) == STRATA_OK;
    fine = fine && strata_allreduce(context, mine, seen, most_count, STRATA_INT32, STRATA_SUM) == STRATA_OK &&
           !wrong(seen, most_count, bootstrap->ranks, round);
    strata_context_destroy(context);
  }
  dup2(errors, STDERR_FILENO);
  fine = fine && lines_with(said, "cannot tell from the host's") == 1;
  if (!fine && said != NULL) tell(said);
  return !fine;
}

static int bad_arguments(const struct strata_bootstrap* bootstrap) {
  strata_context_t* context = NULL;
  int fine = context_of(bootstrap, 1, &context), values[8] = {0};
  fine = fine && refused(strata_allreduce_on_stream(context, values, values + 4, 4, STRATA_INT32, STRATA_SUM, NULL),
                         STRATA_ERR_UNSUPPORTED, "no accelerator"); /* it has not been used yet */
  void* const stream = fine ? accelerator->make_stream(0) : NULL;
  fine = fine && refused(strata_allreduce_on_stream(NULL, values, values, 1, STRATA_INT32, STRATA_SUM, stream),
                         STRATA_ERR_ARG, "context");
  fine = fine && refused(strata_context_state(NULL), STRATA_ERR_ARG, "context");
  fine = fine && refused(strata_allreduce_on_stream(context, values, values + 1, 4, STRATA_INT32, STRATA_SUM, stream),
                         STRATA_ERR_ARG, "overlap");
  fine = fine && refused(strata_allreduce_on_stream(context, values, values + 4, 4, STRATA_INT32, STRATA_SUM, NULL),
                         STRATA_ERR_ARG, "default stream");
  fine = fine && strata_allreduce_on_stream(context, NULL, NULL, 0, STRATA_INT32, STRATA_SUM, stream) == STRATA_OK;
  strata_context_destroy(context);
  return !fine;
}

static void test(const char* name, int ranks, int (*body)(const struct strata_bootstrap*)) {
  const int fine = run_forked(ranks, body) == 0;
  printf("%s %d - %s (%d ranks)\n", fine ? "ok" : "not ok", ++number, name, ranks);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  module_file = argv[1];
  for (int ranks = 1; ranks <= 4; ++ranks)
    test("calls are in order with what is put around them", ranks, in_order);
  test("a bootstrap that allows no threads is refused, and blocks as ever", 2, without_threads);
  test("a stream that is captured into a graph is refused, which is said", 2, captured);
  test("a stream that is captured into a graph is refused by one rank alone", 1, captured);
  test("a device whose memory cannot be told from the host's leaves host buffers as they are", 2, indistinct);
  test("bad arguments are named and nothing is put", 2, bad_arguments);
  test("bad arguments are named by one rank alone", 1, bad_arguments);
  printf("1..%d\n", number);
  return 0;
}
