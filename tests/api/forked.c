/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "forked.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_ranks = 8, slot_bytes = 1 << 16, patience_seconds = 120 };

struct meeting {
  pthread_barrier_t barrier;
  unsigned char slots[most_ranks][slot_bytes];
};

struct place {
  struct meeting* meeting;
  int rank, ranks;
};

static int all_gather(void* user, const void* mine, void* all, size_t bytes) {
  struct place* place = user;
  if (bytes > slot_bytes) return 1;
  memcpy(place->meeting->slots[place->rank], mine, bytes);
  pthread_barrier_wait(&place->meeting->barrier);
  for (int rank = 0; rank < place->ranks; ++rank)
    memcpy((unsigned char*)all + (size_t)rank * bytes, place->meeting->slots[rank], bytes);
  pthread_barrier_wait(&place->meeting->barrier);
  return 0;
}

static int run_rank(struct place* place, int (*body)(const struct strata_bootstrap*)) {
  struct strata_bootstrap bootstrap = {0};
  alarm(patience_seconds); /* a rank that waits for one that is gone ends too */
  bootstrap.rank = place->rank;
  bootstrap.ranks = place->ranks;
  bootstrap.all_gather = all_gather;
  bootstrap.user = place;
  return body(&bootstrap);
}

int run_forked(int ranks, int (*body)(const struct strata_bootstrap*)) {
  pid_t children[most_ranks];
  pthread_barrierattr_t shared;
  int failed = 0;
  struct meeting* meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (ranks > most_ranks || meeting == MAP_FAILED) return ranks;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&meeting->barrier, &shared, (unsigned)ranks);
  fflush(NULL);
  for (int rank = 0; rank < ranks; ++rank) {
    struct place place = {meeting, rank, ranks};
    children[rank] = fork();
    if (children[rank] == 0) {
      const int code = run_rank(&place, body);
      fflush(NULL);
      _exit(code);
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    if (children[rank] < 0 || waitpid(children[rank], &status, 0) != children[rank] || status != 0) ++failed;
  }
  munmap(meeting, sizeof *meeting);
  return failed;
}
