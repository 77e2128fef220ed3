// SPDX-License-Identifier: BSD-3-Clause
// A program with buffers in the memory of the emulated device, which it opens as a real program opens its accelerator's
// library: device MODULE [WHAT [DEVICES]]. Every rank has kinds of memory of its own for what it sends and receives.
// Rank 0 prints how many calls were right.
#include "../../src/device/emulated/program.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, calls, wrong;
static const struct strata_emulated_device* accelerator;
static int devices = 1;     // of which the ranks take one each, in turn
static int with_device = 1; // else the same calls in host memory, for a program that has an accelerator and idles it

// Memory of any kind: 0 is the host's own.
static void* allocate(int kind, size_t bytes) {
  if (!with_device) kind = 0;
  return kind == 0 ? malloc(bytes) : accelerator->allocate((enum emulated_kind)kind, rank % devices, bytes);
}

static void release(int kind, void* memory) {
  if (kind == 0 || !with_device)
    free(memory);
  else if (accelerator->release((enum emulated_kind)kind, memory) != 0)
    ++wrong;
}

// Between memory of the emulated device and the host's own.
static void copy(void* to, const void* from, size_t bytes) {
  if (accelerator->copy(to, from, bytes) != 0) ++wrong;
}

static int value(int of_rank, int i, int salt) { return (of_rank * 31 + i * 7 + salt) % 1000; }

static void expect(const int* seen, int count, int salt, const char* what) {
  ++calls;
  for (int i = 0; i < count; ++i) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r)
      sum += value(r, i, salt);
    if (seen[i] == sum) continue;
    ++wrong;
    printf("rank %d, %s, %d elements: element %d is %d instead of %d\n", rank, what, count, i, seen[i], sum);
    return;
  }
}

// One sum, with memory of these kinds, `offset` elements into their allocations.
static void sum(int count, int send_kind, int receive_kind, int offset, MPI_Comm communicator) {
  const size_t room = (size_t)(count + offset) * sizeof(int), bytes = (size_t)count * sizeof(int);
  static int salt;
  int* const host = malloc(bytes);
  int* const send = allocate(send_kind, room);
  int* const receive = allocate(receive_kind, room);
  ++salt;
  for (int i = 0; i < count; ++i)
    host[i] = value(rank, i, salt);
  copy(send + offset, host, bytes);
  MPI_Allreduce(send + offset, receive + offset, count, MPI_INT, MPI_SUM, communicator);
  copy(host, receive + offset, bytes);
  expect(host, count, salt, "apart");
  for (int i = 0; i < count; ++i)
    host[i] = value(rank, i, salt);
  copy(receive + offset, host, bytes);
  MPI_Allreduce(MPI_IN_PLACE, receive + offset, count, MPI_INT, MPI_SUM, communicator);
  copy(host, receive + offset, bytes);
  expect(host, count, salt, "in place");
  free(host);
  release(send_kind, send);
  release(receive_kind, receive);
}

static void mixtures(void) {
  // The last two are in pieces on the latency path, short and long ones; of the first of them the last has 20 bytes.
  const int counts[] = {1, 5, 1000, 32773, 400000};
  for (int c = 0; c < 5; ++c)
    for (int mixture = 0; mixture < 16; mixture += 3) {
      const int pick = mixture + rank * 7;
      sum(counts[c], 3 - pick % 4, 3 - pick / 4 % 4, mixture % 2, MPI_COMM_WORLD);
    }
}

// Both in the device's memory on all ranks.
static void plain(void) {
  for (int call = 0; call < 4; ++call)
    sum(20000, emulated_device, emulated_device, 0, MPI_COMM_WORLD);
}

// As often as it takes until each way that is tried for this size has had a turn.
static void often(void) {
  for (int round = 0; round < 50; ++round)
    plain();
}

// The same for vectors of many sizes, and for kinds of memory that differ from rank to rank.
static void peers(void) {
  const int counts[] = {1, 3, 1000, 4097, 65537, 300001};
  for (int c = 0; c < 6; ++c) {
    sum(counts[c], emulated_device, emulated_device, c % 2, MPI_COMM_WORLD);
    sum(counts[c], rank % 2 ? 0 : emulated_device, emulated_device, 0, MPI_COMM_WORLD);
    sum(counts[c], 0, rank % 3 ? emulated_device : 0, 0, MPI_COMM_WORLD);
    sum(counts[c], emulated_device, rank % 2 ? emulated_managed : emulated_device, 0, MPI_COMM_WORLD);
  }
}

// Communicators that come and go, with slots of their own.
static void comings(void) {
  for (int round = 0; round < 6; ++round) {
    MPI_Comm one;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    sum(5000, emulated_device, emulated_device, 0, one);
    sum(5000 + round, emulated_device, emulated_device, 0, one);
    MPI_Comm_free(&one);
  }
}

// A buffer in two allocations: in the memory of the first device, and in memory of some kind, of the last device.
static void straddle(int second_kind) {
  enum { first = 8192, count = 5000 };
  int* const memory = accelerator->allocate_pair(0, first, (enum emulated_kind)second_kind, devices - 1, 65536);
  int host[count];
  for (int call = 0; call < 4; ++call) {
    for (int i = 0; i < count; ++i)
      host[i] = value(rank, i, call);
    copy(memory, host, first);
    copy((char*)memory + first, (char*)host + first, sizeof host - first);
    MPI_Allreduce(MPI_IN_PLACE, memory, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    copy(host, memory, first);
    copy((char*)host + first, (char*)memory + first, sizeof host - first);
    expect(host, count, call, "in two allocations");
  }
}

// What is the MPI library's: types and operations that strata does not serve, with gaps that are to stay.
static void add_triples(void* in, void* into, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < 3 * *count; ++i)
    if (i % 3 != 1) ((int*)into)[i] += ((int*)in)[i];
}

static void native(void) {
  enum { count = 200 };
  MPI_Datatype gapped, triple;
  MPI_Op add;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 2 * sizeof(int)};
  const MPI_Datatype parts[] = {MPI_INT, MPI_INT};
  MPI_Type_create_struct(2, lengths, places, parts, &gapped);
  MPI_Type_create_resized(gapped, 0, 3 * sizeof(int), &triple);
  MPI_Type_commit(&triple);
  MPI_Op_create(add_triples, 1, &add);
  int host[3 * count], seen[count];
  int* const send = allocate(rank % 2 ? emulated_device : 0, sizeof host);
  int* const receive = allocate(emulated_device, sizeof host);
  for (int part = 0; part < 3; part += 2) {
    for (int i = 0; i < 3 * count; ++i)
      host[i] = i % 3 == 1 ? -7 : value(rank, i / 3, 5);
    copy(send, host, sizeof host);
    for (int i = 0; i < 3 * count; ++i)
      host[i] = -8;
    copy(receive, host, sizeof host);
    MPI_Allreduce(send, receive, count, triple, add, MPI_COMM_WORLD);
    copy(host, receive, sizeof host);
    for (int i = 0; i < count; ++i)
      seen[i] = host[3 * i + part];
    expect(seen, count, 5, "of a derived type");
    for (int i = 0; i < count; ++i)
      if (host[3 * i + 1] != -8) ++wrong;
  }
  release(rank % 2 ? emulated_device : 0, send);
  release(emulated_device, receive);
  MPI_Op_free(&add);
  MPI_Type_free(&gapped);
  MPI_Type_free(&triple);
  // Equal buffers: whatever the MPI library says of them, and no crash.
  int* const same = allocate(emulated_device, sizeof host);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  (void)MPI_Allreduce(same, same, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  release(emulated_device, same);
}

// A program that takes to its device when strata serves the communicator already.
static void later(void) {
  with_device = 0;
  for (int call = 0; call < 2; ++call)
    sum(100, 0, 0, 0, MPI_COMM_WORLD);
  with_device = 1;
  plain();
}

// The error class of a call with errors returned, and that the next one which strata does not serve has the same.
static void refused(void) {
  int host[4] = {1, 2, 3, 4}, class = 0;
  int* const memory = allocate(emulated_device, sizeof host);
  copy(memory, host, sizeof host);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Allreduce(MPI_IN_PLACE, memory, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Error_class(code, &class);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (MPI_Allreduce(MPI_IN_PLACE, memory, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF) != code) ++wrong;
  if (rank == 0) printf("device: refused with %s\n", class == MPI_ERR_BUFFER ? "MPI_ERR_BUFFER" : "another class");
  release(emulated_device, memory);
}

static void keep(void* in, void* into, int* count, MPI_Datatype* type) {
  (void)in, (void)into, (void)count, (void)type;
}

// How often strata asks what memory the buffers of ten calls are in, when it knows that they are on the device.
static unsigned long questions_of_ten(const void* send, void* receive, MPI_Op operation) {
  const unsigned long before = accelerator->questions();
  for (int i = 0; i < 10; ++i)
    MPI_Allreduce(send, receive, 20000, MPI_INT, operation, MPI_COMM_WORLD);
  return accelerator->questions() - before;
}

static void questions(void) {
  MPI_Op not_of_strata;
  MPI_Op_create(keep, 1, &not_of_strata);
  void* const send = allocate(emulated_device, 20000 * sizeof(int));
  void* const receive = allocate(emulated_device, 20000 * sizeof(int));
  for (int i = 0; i < 4; ++i)
    questions_of_ten(send, receive, MPI_SUM); // past the 32nd call, before which is a look at the buffers
  const unsigned long apart = questions_of_ten(send, receive, MPI_SUM);
  const unsigned long in_place = questions_of_ten(MPI_IN_PLACE, receive, MPI_SUM);
  const unsigned long native = questions_of_ten(send, receive, not_of_strata);
  if (rank == 0) printf("device: asked %lu, in place %lu, for the MPI library %lu\n", apart, in_place, native);
  release(emulated_device, send);
  release(emulated_device, receive);
  MPI_Op_free(&not_of_strata);
}

// Calls past the loss of the device, with errors returned: their class, that no call succeeds after the first error,
// and that what succeeded before is right.
static void lost(void) {
  enum { count = 20000, tries = 8 };
  int* const memory = allocate(emulated_device, count * sizeof(int));
  int* const host = malloc(count * sizeof(int));
  int failed = 0, class = MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int call = 0; call < tries; ++call) {
    for (int i = 0; i < count; ++i)
      host[i] = value(rank, i, call);
    copy(memory, host, count * sizeof(int));
    const int code = MPI_Allreduce(MPI_IN_PLACE, memory, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS && failed != 0) ++wrong;
    if (code == MPI_SUCCESS) {
      copy(host, memory, count * sizeof(int));
      expect(host, count, call, "before the device was lost");
    } else if (failed++ == 0) {
      MPI_Error_class(code, &class);
    }
  }
  printf("rank %d: %s\n", rank, failed == 0 ? "no error" : class == MPI_ERR_OTHER ? "MPI_ERR_OTHER" : "another class");
  free(host);
  release(emulated_device, memory);
}

int main(int argc, char** argv) {
  const char* const what = argc > 2 ? argv[2] : "mixtures";
  void* const module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  strata_emulated_device_entry entry = NULL;
  if (module != NULL) *(void**)&entry = dlsym(module, "strata_emulated_device_v1");
  if (entry == NULL) {
    fprintf(stderr, "no emulated device in %s\n", argv[1]);
    return 2;
  }
  accelerator = entry();
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // for what was wrong before a job is ended
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 3) devices = atoi(argv[3]);
  if (strcmp(what, "host") == 0) with_device = 0;
  if (strcmp(what, "mixtures") == 0 || strcmp(what, "host") == 0) mixtures();
  if (strcmp(what, "plain") == 0) plain();
  if (strcmp(what, "often") == 0) often();
  if (strcmp(what, "peers") == 0) peers();
  if (strcmp(what, "comings") == 0) comings();
  if (strcmp(what, "straddle") == 0) straddle(emulated_device);
  for (int kind = emulated_host; kind <= emulated_device && strcmp(what, "straddles") == 0; ++kind)
    straddle(kind);
  if (strcmp(what, "native") == 0) native();
  if (strcmp(what, "later") == 0) later();
  if (strcmp(what, "refused") == 0) refused();
  if (strcmp(what, "questions") == 0) questions();
  if (strcmp(what, "lost") == 0) lost();
  int all_wrong = 0;
  PMPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("device: %d calls, %d wrong\n", calls, all_wrong);
  MPI_Finalize();
  if (strcmp(what, "lost") == 0) printf("rank %d: finalized\n", rank);
  return all_wrong != 0;
}
