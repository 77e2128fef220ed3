/* SPDX-License-Identifier: BSD-3-Clause */
/* A C99 program without MPI: ranks are forked processes. Prints TAP. */
#include "forked.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number = 0;

static void report(int fine, const char* name, int ranks) {
  printf("%s %d - %s (%d ranks)\n", fine ? "ok" : "not ok", ++number, name, ranks);
}

static int complain(const char* what) {
  fprintf(stderr, "# %s: %s\n", what, strata_last_error_message());
  return 1;
}

/* Sums, in place and not, over sizes for the latency path, for slices, and between them. */
static int sums(const struct strata_bootstrap* bootstrap) {
  static const size_t counts[] = {1, 3, 250, 1000, 5000, 65536, 1000003};
  const int ranks = bootstrap->ranks;
  strata_context_t* context = NULL;
  if (strata_context_create(bootstrap, &context) != STRATA_OK) return complain("create");
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    const size_t count = counts[i];
    float *send = malloc(count * sizeof *send), *receive = malloc(count * sizeof *receive);
    for (int call = 0; call < 6; ++call) {
      const int in_place = (call + bootstrap->rank) % 3 == 0;
      for (size_t k = 0; k < count; ++k)
        (in_place ? receive : send)[k] = (float)(k % 97 + (size_t)(bootstrap->rank * (call + 1)));
      if (strata_allreduce(context, in_place ? STRATA_IN_PLACE : send, receive, count, STRATA_FLOAT32, STRATA_SUM))
        return complain("all-reduce");
      for (size_t k = 0; k < count; ++k) {
        const size_t wanted = k % 97 * (size_t)ranks + (size_t)(ranks * (ranks - 1) / 2 * (call + 1));
        if (receive[k] != (float)wanted) {
          fprintf(stderr, "# count %lu, call %d, rank %d: element %lu is %g, not %lu\n", (unsigned long)count, call,
                  bootstrap->rank, (unsigned long)k, (double)receive[k], (unsigned long)wanted);
          return 1;
        }
      }
    }
    free(send);
    free(receive);
  }
  strata_context_destroy(context);
  return 0;
}

static int integers(const struct strata_bootstrap* bootstrap) {
  strata_context_t* context = NULL;
  const int ranks = bootstrap->ranks, rank = bootstrap->rank;
  int64_t send[100], receive[100];
  if (strata_context_create(bootstrap, &context) != STRATA_OK) return complain("create");
  for (int k = 0; k < 100; ++k)
    send[k] = (int64_t)1 << ((k + rank) % 60);
  if (strata_allreduce(context, send, receive, 100, STRATA_INT64, STRATA_BITWISE_OR)) return complain("or");
  for (int k = 0; k < 100; ++k) {
    int64_t wanted = 0;
    for (int r = 0; r < ranks; ++r)
      wanted |= (int64_t)1 << ((k + r) % 60);
    if (receive[k] != wanted) return 1;
  }
  if (strata_allreduce(context, send, receive, 100, STRATA_INT64, STRATA_MINIMUM)) return complain("minimum");
  for (int k = 0; k < 100; ++k)
    for (int r = 0; r < ranks; ++r)
      if (receive[k] > (int64_t)1 << ((k + r) % 60)) return 1;
  strata_context_destroy(context);
  return 0;
}

/* Contexts of the same ranks are apart: used in turn, destroyed in another order. */
static int contexts(const struct strata_bootstrap* bootstrap) {
  enum { several = 3 };
  strata_context_t* all[several];
  for (int i = 0; i < several; ++i)
    if (strata_context_create(bootstrap, &all[i]) != STRATA_OK) return complain("create");
  for (int round = 0; round < 20; ++round)
    for (int i = 0; i < several; ++i) {
      int32_t value = round * several + i, sum = 0;
      if (strata_allreduce(all[i], &value, &sum, 1, STRATA_INT32, STRATA_SUM)) return complain("all-reduce");
      if (sum != value * bootstrap->ranks) return 1;
    }
  for (int i = several - 1; i >= 0; --i)
    strata_context_destroy(all[i]);
  return 0;
}

static int refused(int code, const char* word) {
  if (code == STRATA_ERR_ARG && strstr(strata_last_error_message(), word) != NULL) return 1;
  fprintf(stderr, "# code %d (%s), \"%s\" does not speak of %s\n", code, strata_error_string(code),
          strata_last_error_message(), word);
  return 0;
}

static int released = 0;
static void release(void* user) {
  (void)user;
  ++released;
}

static int bad_arguments(const struct strata_bootstrap* bootstrap) {
  struct strata_bootstrap wrong = *bootstrap;
  strata_context_t* context = NULL;
  float values[8] = {0};
  int fine = refused(strata_context_create(NULL, &context), "bootstrap");
  fine &= refused(strata_context_create(bootstrap, NULL), "context");
  wrong.rank = wrong.ranks;
  fine &= refused(strata_context_create(&wrong, &context), "rank");
  wrong.ranks = 0;
  fine &= refused(strata_context_create(&wrong, &context), "ranks");
  wrong = *bootstrap;
  wrong.all_gather = NULL;
  fine &= refused(strata_context_create(&wrong, &context), "all_gather");
  wrong = *bootstrap;
  wrong.release = release;
  if (strata_context_create(&wrong, &context) != STRATA_OK) return complain("create");
  fine &= refused(strata_allreduce(NULL, values, values, 1, STRATA_FLOAT32, STRATA_SUM), "context");
  fine &= refused(strata_allreduce(context, values, NULL, 1, STRATA_FLOAT32, STRATA_SUM), "receive");
  fine &= refused(strata_allreduce(context, NULL, values, 1, STRATA_FLOAT32, STRATA_SUM), "send");
  fine &= refused(strata_allreduce(context, values, values + 1, 4, STRATA_FLOAT32, STRATA_SUM), "overlap");
  fine &= refused(strata_allreduce(context, values, values, 1, STRATA_FLOAT32, STRATA_BITWISE_XOR), "bitwise_xor");
  fine &= refused(strata_allreduce(context, values, values, 1, (enum strata_element)77, STRATA_SUM), "77");
  fine &= refused(strata_allreduce(context, values, values, 1, STRATA_FLOAT32, (enum strata_operation)78), "78");
  fine &= refused(strata_allreduce(context, values, values, (size_t)-1, STRATA_FLOAT32, STRATA_SUM), "count");
  fine &= strata_allreduce(context, NULL, NULL, 0, STRATA_FLOAT32, STRATA_SUM) == STRATA_OK;
  fine &= strata_allreduce(context, STRATA_IN_PLACE, values, 8, STRATA_FLOAT32, STRATA_SUM) == STRATA_OK;
  strata_context_destroy(context);
  strata_context_destroy(NULL);
  fine &= released == 1;
  return !fine;
}

static int broken_gather(void* user, const void* mine, void* all, size_t bytes) {
  (void)user, (void)mine, (void)all, (void)bytes;
  return 7;
}

static int broken_bootstrap(const struct strata_bootstrap* bootstrap) {
  struct strata_bootstrap broken = *bootstrap;
  strata_context_t* context = NULL;
  broken.all_gather = broken_gather;
  broken.release = release;
  if (strata_context_create(&broken, &context) != STRATA_ERR_PEER) return complain("no STRATA_ERR_PEER");
  return !(context == NULL && released == 1 && strstr(strata_last_error_message(), "7") != NULL);
}

struct breaking {
  const struct strata_bootstrap* works;
  int broken;
};

static int gather_until_broken(void* user, const void* mine, void* all, size_t bytes) {
  const struct breaking* breaking = user;
  if (breaking->broken) return 8;
  return breaking->works->all_gather(breaking->works->user, mine, all, bytes);
}

/* One size is set up while it works; then another one cannot be, and from then on nothing can. */
static int bootstrap_breaks_later(const struct strata_bootstrap* bootstrap) {
  struct breaking breaking = {bootstrap, 0};
  struct strata_bootstrap table = *bootstrap;
  strata_context_t* context = NULL;
  float values[100] = {0};
  table.all_gather = gather_until_broken;
  table.user = &breaking;
  if (strata_context_create(&table, &context) != STRATA_OK) return complain("create");
  for (int size = 0; size < 2; ++size) {
    breaking.broken = size;
    const int code =
        strata_allreduce(context, STRATA_IN_PLACE, values, size == 0 ? 1 : 100, STRATA_FLOAT32, STRATA_SUM);
    if (code != (size == 0 ? STRATA_OK : STRATA_ERR_PEER)) return complain("a call when all_gather breaks");
  }
  if (strstr(strata_last_error_message(), "returned 8") == NULL) return complain(strata_last_error_message());
  if (strata_allreduce(context, STRATA_IN_PLACE, values, 50, STRATA_FLOAT32, STRATA_SUM) != STRATA_ERR_PEER)
    return complain("a call after all_gather broke");
  strata_context_destroy(context);
  return 0;
}

static void test(const char* name, int ranks, int (*body)(const struct strata_bootstrap*)) {
  report(run_forked(ranks, body) == 0, name, ranks);
}

int main(void) {
  report(strlen(strata_version()) >= 5 && strcmp(strata_error_string(STRATA_OK), strata_error_string(99)) != 0,
         "has a version and texts for its codes", 0);
  for (int ranks = 1; ranks <= 5; ++ranks) {
    test("adds vectors of all lengths, in place and not", ranks, sums);
    test("reduces integers", ranks, integers);
  }
  test("keeps contexts apart", 3, contexts);
  test("names bad arguments and sends nothing", 2, bad_arguments);
  test("says so when the bootstrap fails", 2, broken_bootstrap);
  test("says so when the bootstrap fails later", 3, bootstrap_breaks_later);
  printf("1..%d\n", number);
  return 0;
}
