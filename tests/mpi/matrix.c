// SPDX-License-Identifier: BSD-3-Clause
// An unmodified MPI program that compares MPI_Allreduce with MPI_Reduce and MPI_Bcast, which strata leaves alone.
//
//     matrix [seed] [rounds]
//
// Each round draws a communicator, type, operation, count, alignment and in-place or not from the seed, which all ranks
// share; values are small whole numbers, so that every order of operations gives the same result. Prints
// "matrix: N calls, 0 differences" from rank 0 and exits with 1 if there was one.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t random_state;

static uint64_t next_random(void) { // xorshift64*, Vigna 2016
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * 0x2545F4914F6CDD1DULL;
}

enum kind { whole, fortran, real, pair };

static void fill(void* to, MPI_Datatype type, int bytes, enum kind kind, long count, int rank, uint64_t salt) {
  unsigned char* out = to;
  for (long i = 0; i < count; ++i, out += bytes) {
    const uint64_t mixed = (salt + (uint64_t)i * 0x9E3779B97F4A7C15ULL + (uint64_t)rank * 0xC2B2AE3D27D4EB4FULL) >> 33;
    const int value = (int)(mixed % 3); // products of 16 ranks stay exact
    if (kind == real && bytes == 4) {
      const float number = (float)value;
      memcpy(out, &number, sizeof number);
    } else if (kind == real && bytes == 8) {
      const double number = value;
      memcpy(out, &number, sizeof number);
    } else if (kind == real) {
      const long double number = value;
      memset(out, 0, (size_t)bytes);
      memcpy(out, &number, 10);
    } else if (kind == pair) {
      const double number = value;
      memset(out, 0, (size_t)bytes); // also what lies between and behind
      memcpy(out, &number, sizeof number);
      memcpy(out + sizeof number, &rank, sizeof rank);
    } else {
      memset(out, 0, (size_t)bytes);
      out[0] = (unsigned char)value; // little-endian
    }
  }
  (void)type;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  random_state = argc > 1 ? strtoull(argv[1], NULL, 10) * 2 + 1 : 1;
  const int rounds = argc > 2 ? atoi(argv[2]) : 300;

  const struct {
    MPI_Datatype type;
    enum kind kind;
  } types[] = {{MPI_FLOAT, real},          {MPI_DOUBLE, real},          {MPI_INT, whole},
               {MPI_UNSIGNED, whole},      {MPI_LONG, whole},           {MPI_UNSIGNED_LONG, whole},
               {MPI_SHORT, whole},         {MPI_UNSIGNED_SHORT, whole}, {MPI_SIGNED_CHAR, whole},
               {MPI_UNSIGNED_CHAR, whole}, {MPI_LONG_LONG, whole},      {MPI_INT8_T, whole},
               {MPI_UINT64_T, whole},      {MPI_LONG_DOUBLE, real},     {MPI_DOUBLE_INT, pair},
               {MPI_INTEGER, fortran},     {MPI_DOUBLE_PRECISION, real}};
  const MPI_Op operations[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_LAND,
                               MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
  const MPI_Op pair_operations[] = {MPI_MINLOC, MPI_MAXLOC};

  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm communicators[5];
  communicators[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicators[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &communicators[2]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &communicators[3]);                          // ranks backwards
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, (rank * 7) % 5, &communicators[4]); // one rank alone

  const long most = 1 << 18;
  unsigned char* memory = malloc((size_t)(3 * (most + 8) * 16));
  long calls = 0, differences = 0;
  for (int round = 0; round < rounds; ++round) {
    const size_t t = next_random() % COUNT_OF(types);
    const MPI_Comm communicator = communicators[next_random() % 5];
    const size_t defined = types[t].kind == whole ? COUNT_OF(operations) : 4; // the others are for integers of C
    const MPI_Op operation =
        types[t].kind == pair ? pair_operations[next_random() % 2] : operations[next_random() % defined];
    long count = 1 + (long)(next_random() % 8);
    const int magnitude = (int)(next_random() % 17);
    if (magnitude > 2) count = 1 + (long)(next_random() % (1UL << magnitude));
    if (round % 61 == 60) count = most;
    const int in_place = (int)(next_random() % 2), shift = (int)(next_random() % 4);
    const uint64_t salt = next_random();
    int bytes = 0;
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(types[t].type, &lower, &extent);
    bytes = (int)extent;
    unsigned char *send = memory + shift * bytes, *got = send + (most + 5) * 16, *expected = got + (most + 6) * 16;
    int self = 0;
    MPI_Comm_rank(communicator, &self);
    // Packed structures and Fortran's COMMON blocks hold vectors that are not aligned to their elements.
    if ((salt + (uint64_t)self) % 4 == 0) got += 1 + (salt >> 8) % 15;
    fill(send, types[t].type, bytes, types[t].kind, count, self, salt);
    memset(expected, 0, (size_t)(count * bytes));
    MPI_Reduce(send, expected, (int)count, types[t].type, operation, 0, communicator);
    MPI_Bcast(expected, (int)count, types[t].type, 0, communicator);
    memset(got, 0xA5, (size_t)((count + 1) * bytes));
    if (types[t].kind == real || types[t].kind == pair)
      memset(got, 0, (size_t)(count * bytes)); // padding of long double and pairs
    if (in_place) memcpy(got, send, (size_t)(count * bytes));
    MPI_Allreduce(in_place ? MPI_IN_PLACE : (void*)send, got, (int)count, types[t].type, operation, communicator);
    ++calls;
    int bad = memcmp(got, expected, (size_t)(count * bytes)) != 0;
    if (types[t].kind != pair)
      for (int i = 0; i < bytes && !bad; ++i)
        bad = got[count * bytes + i] != 0xA5; // nothing written beyond
    if (bad) {
      if (differences++ < 5)
        printf("rank %d: round %d type %zu count %ld in_place %d differs\n", rank, round, t, count, in_place);
    }
  }
  long total = 0;
  MPI_Reduce(&differences, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("matrix: %ld calls, %ld differences\n", calls, total);
  for (int c = 1; c < 5; ++c)
    MPI_Comm_free(&communicators[c]);
  free(memory);
  MPI_Finalize();
  return differences != 0;
}
