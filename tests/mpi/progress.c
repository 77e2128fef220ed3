// SPDX-License-Identifier: BSD-3-Clause
// MPI's progress rule: what a rank has posted before it waits in MPI_Allreduce goes on while it waits there.
//
//     progress send|receive|put|broadcast|file [count [messages]]
//
// send:     rank 0 starts a large send and calls MPI_Allreduce; rank 1 receives, and then calls it.
// receive:  rank 1 posts a large receive and calls MPI_Allreduce; rank 0 sends, and then calls it.
// put:      rank 0 exposes memory and calls MPI_Allreduce; rank 1 locks, writes and unlocks it, and then calls it.
// broadcast: rank 0 starts a large nonblocking broadcast and calls MPI_Allreduce; the others complete it before that.
// file:     all ranks start to write to a file and call MPI_Allreduce; then they complete it and read.
//
// messages: all the time each rank has that many messages from every other, of the highest tags that all MPI libraries
// have, that it only receives in the end.
//
// All other ranks call MPI_Allreduce at once, of `count` elements. Where a waiting rank lets MPI rest, this hangs.
// Prints "progress: right" from rank 0.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { large = 1 << 19, rounds = 4, first_calls = 3 };

static int rank, ranks, count, wrong;
static int *mine, *sum, *message;

static void all_reduce(int salt) {
  for (int i = 0; i < count; ++i)
    mine[i] = rank + i % 5 + salt;
  MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i)
    wrong += sum[i] != ranks * (ranks - 1) / 2 + ranks * (i % 5 + salt);
}

static void set(int value) {
  for (int i = 0; i < large; ++i)
    message[i] = value + i;
}

static void compare(int value) {
  for (int i = 0; i < large; ++i)
    wrong += message[i] != value + i;
}

static void send_and_wait(int round) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    set(round);
    MPI_Isend(message, large, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  } else if (rank == 1) {
    MPI_Recv(message, large, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compare(round);
  }
  all_reduce(round);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void post_and_wait(int round) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 1) {
    MPI_Irecv(message, large, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  } else if (rank == 0) {
    set(round);
    MPI_Send(message, large, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  all_reduce(round);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) compare(round);
}

static void expose_and_wait(int round, MPI_Win window) {
  if (rank == 1) {
    set(round);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(message, large, MPI_INT, 0, 0, large, MPI_INT, window);
    MPI_Win_unlock(0, window);
  }
  all_reduce(round);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    compare(round);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcast_and_wait(int round) {
  MPI_Request request;
  if (rank == 0) set(round);
  MPI_Ibcast(message, large, MPI_INT, 0, MPI_COMM_WORLD, &request);
  if (rank != 0) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    compare(round);
  }
  all_reduce(round);
  if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void write_and_wait(int round, MPI_File file) {
  const MPI_Offset bytes = (MPI_Offset)(large * sizeof *message);
  MPI_Request request;
  set(round + rank);
  MPI_File_iwrite_at(file, bytes * rank, message, large, MPI_INT, &request);
  all_reduce(round);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  const int other = (rank + 1) % ranks;
  MPI_File_read_at(file, bytes * other, message, large, MPI_INT, MPI_STATUS_IGNORE);
  compare(round + other);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Sends or receives; a receiver sees that nothing has taken any. */
static void waiting_messages(int number, int receive) {
  for (int other = 0; other < ranks; ++other)
    for (int tag = 32767; other != rank && tag > 32767 - number; --tag) {
      int value = rank + tag;
      if (receive)
        MPI_Recv(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), wrong += value != other + tag;
      else
        MPI_Send(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
    }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "send";
  count = argc > 2 ? atoi(argv[2]) : 1;
  const int waiting = argc > 3 ? atoi(argv[3]) : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  mine = malloc((size_t)count * sizeof *mine);
  sum = malloc((size_t)count * sizeof *sum);
  MPI_Alloc_mem(large * sizeof *message, MPI_INFO_NULL, &message);
  MPI_Win window = MPI_WIN_NULL;
  if (strcmp(what, "put") == 0)
    MPI_Win_create(message, rank == 0 ? large * sizeof *message : 0, sizeof *message, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window);
  MPI_File file = MPI_FILE_NULL;
  char name[200] = "";
  if (strcmp(what, "file") == 0) {
    if (rank == 0)
      snprintf(name, sizeof name, "%s/strata-progress-%.0f", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
               MPI_Wtime() * 1e6);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
  }
  waiting_messages(waiting, 0);
  for (int call = 0; call < first_calls; ++call)
    all_reduce(call); // contexts and connections are made: not what is tested here
  MPI_Barrier(MPI_COMM_WORLD);

  for (int round = 0; round < rounds; ++round) {
    if (window != MPI_WIN_NULL)
      expose_and_wait(round, window);
    else if (file != MPI_FILE_NULL)
      write_and_wait(round, file);
    else if (strcmp(what, "broadcast") == 0)
      broadcast_and_wait(round);
    else if (strcmp(what, "receive") == 0)
      post_and_wait(round);
    else
      send_and_wait(round);
  }
  waiting_messages(waiting, 1);

  int all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("progress: %s\n", all_wrong == 0 ? "right" : "wrong");
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  if (file != MPI_FILE_NULL) MPI_File_close(&file);
  MPI_Free_mem(message);
  free(mine);
  free(sum);
  MPI_Finalize();
  return wrong != 0;
}
