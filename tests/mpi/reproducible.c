// SPDX-License-Identifier: BSD-3-Clause
// Sums of numbers whose order shows in the result. Prints a line per vector with a hash of the bits, and at last
// whether each result was that of adding in the order of the ranks, which each rank computes from all contributions.
//
//     reproducible [calls per size]
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mixed(uint64_t x) { // splitmix64, Steele, Lea and Flood 2014
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// Of very different magnitudes and both signs.
static double number(int rank, int place) {
  const uint64_t bits = mixed((uint64_t)rank << 40 ^ (uint64_t)place);
  const double unit = (double)(bits >> 12) / (double)(1ULL << 52) - 0.5;
  return unit * (double)(1ULL << (bits & 31));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 3;
  const int sizes[] = {1, 3, 17, 300, 1000, 5000, 40000, 300000};
  const int most = 300000;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double *in = malloc(sizeof *in * (size_t)most), *out = malloc(sizeof *out * (size_t)most);
  float *small_in = malloc(sizeof *small_in * (size_t)most), *small_out = malloc(sizeof *small_out * (size_t)most);
  for (int i = 0; i < most; ++i) {
    in[i] = number(rank, i);
    small_in[i] = (float)in[i];
  }
  long differences = 0;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    uint64_t hash = 14695981039346656037ULL;
    for (int call = 0; call < calls; ++call) {
      MPI_Allreduce(in, out, sizes[s], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      MPI_Allreduce(small_in, small_out, sizes[s], MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      for (int i = 0; i < sizes[s]; ++i) {
        double sum = number(0, i);
        float small_sum = (float)number(0, i);
        for (int other = 1; other < ranks; ++other) {
          sum += number(other, i);
          small_sum += (float)number(other, i);
        }
        differences +=
            memcmp(&sum, &out[i], sizeof sum) != 0 || memcmp(&small_sum, &small_out[i], sizeof small_sum) != 0;
        uint64_t bits;
        memcpy(&bits, &out[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211ULL;
      }
    }
    if (rank == 0) printf("%d: %016llx\n", sizes[s], (unsigned long long)hash);
  }
  long all = 0;
  MPI_Reduce(&differences, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("reproducible: %ld differences from the order of the ranks\n", all);
  MPI_Finalize();
  return 0;
}
