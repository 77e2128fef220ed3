// SPDX-License-Identifier: BSD-3-Clause
// What is valid and rare: operations and types that a program makes, uses and frees between calls, MPI_BOTTOM, handles
// that come back with another meaning, and the time before MPI_Init and after MPI_Finalize.
//
//     corners [without]       instead: no MPI_Init at all
//
// Every result is compared with what MPI defines (all values are whole numbers, all operations associative) and, byte
// by byte, with what the MPI library's own PMPI_Allreduce gives. Prints from rank 0 a line for each, and how many calls
// strata may run and how many it has to pass on for which reason. Returns 1 if anything differs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { area = 1 << 16, middle = area / 2, most_blocks = 4 };
typedef int allreduce_function(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef uint32_t combine_function(uint32_t, uint32_t);

// Where the numbers of an element are, from the address that is passed.
struct shape {
  const char* name;
  MPI_Datatype type;
  int blocks;
  MPI_Aint at[most_blocks];
  MPI_Aint extent;
};

static int rank, ranks, wrong, eligible, passed_on, empty, between_groups;
static unsigned char in[area], out[area];
static allreduce_function* native;
static const struct shape* current; // what the operations below are told of it is a handle

static int fail(const char* name, const char* what) {
  printf("corners: rank %d: %s: %s\n", rank, name, what);
  fflush(stdout);
  return ++wrong;
}

// ---- operations ---------------------------------------------------------------------------------------------------

static uint32_t multiply_less_one(uint32_t a, uint32_t b) { return a + b + a * b; } // (1 + a) (1 + b) - 1

// The upper half is u, the lower v of x -> u x + v, modulo 2^16: first a, then b.
static uint32_t compose(uint32_t a, uint32_t b) {
  const uint32_t factor = (a >> 16) * (b >> 16), rest = (b >> 16) * (a & 0xFFFF) + b;
  return factor << 16 | (rest & 0xFFFF);
}

static uint32_t get(uintptr_t address) {
  uint32_t value;
  memcpy(&value, (void*)address, sizeof value); // an extent may be odd
  return value;
}

// By numbers, because the buffers may be so far from their elements that they are no addresses.
static void apply(combine_function* combine, const void* left, void* right, int count) {
  for (int i = 0; i < count; ++i)
    for (int block = 0; block < current->blocks; ++block) {
      const uintptr_t place = (uintptr_t)(i * current->extent + current->at[block]);
      const uint32_t value = combine(get((uintptr_t)left + place), get((uintptr_t)right + place));
      memcpy((void*)((uintptr_t)right + place), &value, sizeof value);
    }
}
static void commuting(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  apply(multiply_less_one, left, right, *count);
}
static void ordered(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  apply(compose, left, right, *count);
}

// ---- one call -----------------------------------------------------------------------------------------------------

static uint32_t value_of(int of_rank, int i, int block) {
  return (uint32_t)(of_rank * 7 + i * 3 + block + 1) * 0x10003u + (uint32_t)of_rank;
}

// `base` is where the first element's address is as the program passes it, so that what is at base + at is in an area.
static void fill(uintptr_t base, const struct shape* shape, int count) {
  for (int i = 0; i < count; ++i)
    for (int block = 0; block < shape->blocks; ++block) {
      const uint32_t value = value_of(rank, i, block);
      memcpy((void*)(base + (uintptr_t)(i * shape->extent + shape->at[block])), &value, sizeof value);
    }
}

static int right(uintptr_t base, const struct shape* shape, int count, combine_function* combine) {
  for (int i = 0; i < count; ++i)
    for (int block = 0; block < shape->blocks; ++block) {
      uint32_t wanted = value_of(0, i, block);
      for (int other = 1; other < ranks; ++other)
        wanted = combine(wanted, value_of(other, i, block));
      if (get(base + (uintptr_t)(i * shape->extent + shape->at[block])) != wanted) return 0;
    }
  return 1;
}

static void prepare(const struct shape* shape, int count, const void* send, void* receive) {
  memset(in, 0xA5, sizeof in);
  memset(out, 0x5A, sizeof out);
  fill((uintptr_t)(send == MPI_IN_PLACE ? receive : send), shape, count);
}

// With a fresh operation each time: its handle is often that of the one before.
static void run(const struct shape* shape, int count, int commutes, const void* send, void* receive, MPI_Comm comm) {
  static unsigned char first[area];
  combine_function* const combine = commutes ? multiply_less_one : compose;
  MPI_Op operation;
  current = shape;
  MPI_Op_create(commutes ? commuting : ordered, commutes, &operation);
  prepare(shape, count, send, receive);
  int code = MPI_Allreduce(send, receive, count, shape->type, operation, comm);
  *(count == 0 ? &empty : &passed_on) += 1;
  memcpy(first, out, sizeof first);
  if (code != MPI_SUCCESS) fail(shape->name, "an error");
  if (!right((uintptr_t)receive, shape, count, combine)) fail(shape->name, "a wrong result");
  prepare(shape, count, send, receive);
  code = native(send, receive, count, shape->type, operation, comm);
  if (code != MPI_SUCCESS) fail(shape->name, "an error of the MPI library's own");
  if (memcmp(first, out, sizeof first) != 0) fail(shape->name, "not what the MPI library's own gives");
  MPI_Op_free(&operation);
  if (operation != MPI_OP_NULL) fail(shape->name, "the operation is not freed");
}

// What strata may run, so that what it remembers of the call before is not that of a type or operation of the program.
static void sum(MPI_Comm comm, int count, int in_place) {
  static int numbers[1000], sums[1000];
  static double reals[1000], real_sums[1000];
  for (int i = 0; i < count; ++i) {
    numbers[i] = sums[i] = rank * i + 1;
    reals[i] = real_sums[i] = rank + i * 0.5;
  }
  MPI_Allreduce(in_place ? MPI_IN_PLACE : numbers, sums, count, MPI_INT, MPI_SUM, comm);
  MPI_Allreduce(in_place ? MPI_IN_PLACE : reals, real_sums, count, MPI_DOUBLE, MPI_SUM, comm);
  eligible += 2;
  for (int i = 0; i < count; ++i) {
    if (sums[i] != ranks * (ranks - 1) / 2 * i + ranks) fail("sum of integers", "a wrong result");
    if (real_sums[i] != ranks * (ranks - 1) / 2 + ranks * i * 0.5) fail("sum of reals", "a wrong result");
  }
}

// In every way of passing buffers; the elements themselves are in the middle of the areas. For a type of absolute
// addresses in `in`, the address of these is MPI_BOTTOM, and that of `out` is as far from it as `out` is from `in`.
static void every_way(const struct shape* shape, int count, int absolute, MPI_Comm comm) {
  void* const from = absolute ? MPI_BOTTOM : in + middle;
  void* const to = (void*)((uintptr_t)from + ((uintptr_t)out - (uintptr_t)in));
  for (int turn = 0; turn < 4; ++turn) {
    const int commutes = turn % 2, in_place = turn / 2;
    run(shape, count, commutes, in_place ? MPI_IN_PLACE : from, to, comm);
    sum(comm, 1 + turn * 300, in_place);
  }
  if (rank == 0) printf("%s, %d elements: compared\n", shape->name, count);
}

// ---- types --------------------------------------------------------------------------------------------------------

static void use_and_free(struct shape shape, int absolute, MPI_Comm comm) {
  const int counts[] = {1, 17, 0, 400};
  MPI_Type_commit(&shape.type);
  for (int i = 0; i < 4; ++i) {
    // With absolute addresses there is one element, and its distance to the next is not ours to choose.
    if (!absolute || counts[i] <= 1) every_way(&shape, counts[i], absolute, comm);
  }
  MPI_Type_free(&shape.type);
  if (shape.type != MPI_DATATYPE_NULL) fail(shape.name, "the type is not freed");
}

// None of negative extent: more than one such element is an error in Open MPI 4.1, and breaks MPICH 4.0's heap.
static void own_types(MPI_Comm comm) {
  const MPI_Aint word = sizeof(uint32_t);
  MPI_Datatype part;
  struct shape contiguous = {"three numbers", MPI_DATATYPE_NULL, 3, {0, word, 2 * word}, 3 * word};
  MPI_Type_contiguous(3, MPI_UINT32_T, &contiguous.type);
  use_and_free(contiguous, 0, comm);

  struct shape holes = {"with holes", MPI_DATATYPE_NULL, 4, {0, word, 5 * word, 6 * word}, 7 * word};
  MPI_Type_vector(2, 2, 5, MPI_UINT32_T, &holes.type);
  use_and_free(holes, 0, comm);

  struct shape resized = {"with a negative lower bound and an odd extent", MPI_DATATYPE_NULL, 2, {0, word}, 13};
  MPI_Type_contiguous(2, MPI_UINT32_T, &part);
  MPI_Type_create_resized(part, -3, resized.extent, &resized.type);
  MPI_Type_free(&part); // what is made of it stays
  use_and_free(resized, 0, comm);

  struct shape nothing = {"of no bytes", MPI_DATATYPE_NULL, 0, {0}, 0};
  MPI_Type_contiguous(0, MPI_UINT32_T, &nothing.type);
  use_and_free(nothing, 0, comm);

  struct shape copy = {"copy of a predefined type", MPI_DATATYPE_NULL, 1, {0}, word};
  MPI_Type_dup(MPI_UINT32_T, &copy.type);
  use_and_free(copy, 0, comm);

  struct shape bottom = {"absolute addresses", MPI_DATATYPE_NULL, 3, {0}, 0};
  const int lengths[2] = {1, 2}, offsets[3] = {middle, middle + 40, middle + 40 + (int)word};
  MPI_Aint addresses[2], low;
  for (int block = 0; block < 3; ++block)
    MPI_Get_address(in + offsets[block], &bottom.at[block]);
  addresses[0] = bottom.at[0], addresses[1] = bottom.at[1];
  MPI_Type_create_hindexed(2, lengths, addresses, MPI_UINT32_T, &bottom.type);
  MPI_Type_get_extent(bottom.type, &low, &bottom.extent);
  use_and_free(bottom, 1, comm);

  const struct shape predefined = {"predefined type", MPI_UINT32_T, 1, {0}, word};
  every_way(&predefined, 1000, 0, comm);
}

// ---- errors -------------------------------------------------------------------------------------------------------

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

// A predefined operation is for predefined types: whatever the MPI library says, it is to be the same.
static void predefined_operations(MPI_Comm comm) {
  const MPI_Op operations[] = {MPI_SUM, MPI_MAX, MPI_BAND, MPI_MINLOC};
  MPI_Datatype types[3];
  MPI_Type_contiguous(1, MPI_INT, &types[0]);
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &types[1]);
  MPI_Type_create_resized(MPI_FLOAT, 0, 8, &types[2]);
  for (int i = 0; i < 3; ++i) {
    MPI_Type_commit(&types[i]);
    for (int o = 0; o < 4; ++o) {
      const int seen = class_of(MPI_Allreduce(in, out, 2, types[i], operations[o], comm));
      const int wanted = class_of(native(in, out, 2, types[i], operations[o], comm));
      ++passed_on;
      if (seen != wanted) fail("predefined operation on a derived type", "another class of error");
      if (rank == 0) printf("predefined operation %d on derived type %d: class %d\n", o, i, seen);
    }
    sum(comm, 5, 0);
    MPI_Type_free(&types[i]);
  }
}

// ---- communicators ------------------------------------------------------------------------------------------------

// An intercommunicator and then a duplicate, whose handle is often the same: what was found out of the one must not be
// taken for the other.
static void handles_again(MPI_Comm comm) {
  MPI_Comm half, between, copy;
  MPI_Comm_split(comm, rank % 2, rank, &half);
  for (int turn = 0; turn < 3; ++turn) {
    int others = ranks / 2 + (ranks % 2 == 1 && rank % 2 == 1), one = 1, seen = 0;
    MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, turn, &between);
    MPI_Allreduce(&one, &seen, 1, MPI_INT, MPI_SUM, between);
    ++between_groups;
    if (seen != others) fail("between two groups", "a wrong result");
    MPI_Comm_free(&between);
    MPI_Comm_dup(comm, &copy);
    MPI_Allreduce(&one, &seen, 1, MPI_INT, MPI_SUM, copy);
    ++eligible;
    if (seen != ranks) fail("a duplicate", "a wrong result");
    sum(copy, 100, turn % 2);
    MPI_Comm_free(&copy);
  }
  MPI_Comm_free(&half);
}

// ---- beginning and end --------------------------------------------------------------------------------------------

static void expect(const char* when, int started, int ended) {
  int initialized = -1, finalized = -1;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != started || finalized != ended) fail(when, "MPI_Initialized or MPI_Finalized is wrong");
}

// The preload may define PMPI_Allreduce too, so that it is to be taken out of the library that has the rest.
static allreduce_function* native_allreduce(void) {
  Dl_info place;
  allreduce_function* found = NULL;
  if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Comm_rank"), &place) == 0) return NULL;
  void* const library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library != NULL) *(void**)&found = dlsym(library, "PMPI_Allreduce");
  return found;
}

int main(int argc, char** argv) {
  int version = 0, subversion = 0;
  MPI_Get_version(&version, &subversion);
  expect("before MPI_Init", 0, 0);
  if (argc > 1) {
    if (wrong == 0) puts("corners: without MPI_Init");
    return wrong != 0;
  }
  MPI_Init(&argc, &argv);
  expect("after MPI_Init", 1, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  native = native_allreduce();
  if (native == NULL) {
    fail("the MPI library", "no PMPI_Allreduce in it");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // where Open MPI raises some
  own_types(comm);
  predefined_operations(comm);
  handles_again(comm);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  expect("after MPI_Finalize", 1, 1);
  if (rank == 0)
    printf("corners: %d wrong, %d for strata, %d of type or operation, %d empty, %d between groups\n", wrong, eligible,
           passed_on, empty, between_groups);
  return wrong != 0;
}
