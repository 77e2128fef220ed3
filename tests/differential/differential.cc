// SPDX-License-Identifier: BSD-3-Clause
// Random calls of MPI_Allreduce, by strata and by the MPI library's own in the same process, compared.
//
//     differential [--seed N] [--seconds N] [--calls N] [--sabotage]
//
// Everything is drawn from the seed, which is printed first: the communicator, strata's options for it, the type,
// operation, count, alignment, in place or not, and the values. A result is right if it has the bits of the MPI
// library's, or lies within the rounding bound of the exact one; if all ranks have the same bits; if the second call
// gives them again; and if nothing else was written. A case that fails is made simpler as long as it fails, and then
// written down. --sabotage spoils results, to show that they are found.
#include "values.h"

#include "strata/strata_mpi.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace differential {
namespace {

using AllReduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

struct World {
  Tables tables;
  const strata_mpi_introspection* strata = nullptr;
  AllReduce native = nullptr;
  int rank = 0, ranks = 1;
  bool sabotage = false;
  long calls = 0;
  std::vector<unsigned char> memory;
};

void set_options(const World& world, const Options& options) {
  if (world.strata == nullptr || world.strata->version < 2) return;
  const auto set = [&](const char* name, const std::string& value, const char* initial) {
    if (world.strata->set_option(name, value.empty() ? initial : value.c_str()) == 0) return;
    std::fprintf(stderr, "differential: FAILED, %s=%s was refused\n", name, value.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  };
  set("MODE", "always", "");
  set("TUNE", "model", "");
  set("ALGORITHM", options.algorithm, "");
  set("SLICE", options.slice, "0");
  set("WINDOW", options.window, "0");
  set("LEVELS", options.levels, "");
  set("TRANSPORTS", options.transports, "shm,ucx,mpi");
  set("REPRODUCIBLE", options.reproducible, "0");
}

MPI_Comm communicator_of(const World& world, const Case& drawn) {
  int color = 0, key = world.rank;
  if (drawn.grouping == Grouping::backwards) key = -world.rank;
  if (drawn.grouping == Grouping::shuffled) key = (world.rank * 7 + 3) % 5;
  if (drawn.grouping == Grouping::halves) color = world.rank % 2;
  if (drawn.grouping == Grouping::alone_and_others) color = world.rank == 0 ? 0 : 1;
  MPI_Comm communicator = MPI_COMM_NULL;
  set_options(world, drawn.options);
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &communicator);
  // The first call on a communicator is the MPI library's.
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, communicator);
  return communicator;
}

std::vector<int> world_ranks_of(MPI_Comm communicator) {
  int ranks = 1, rank = 0;
  MPI_Comm_size(communicator, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<int> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, communicator);
  return all;
}

/// Why the case fails on this rank; empty: it does not.
std::string run_here(World& world, const Case& call, MPI_Comm communicator) {
  const Type& type = world.tables.types[static_cast<std::size_t>(call.type)];
  const MPI_Op operation = world.tables.operations[static_cast<std::size_t>(call.operation)].operation;
  const std::vector<int> members = world_ranks_of(communicator);
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(type.type, &lower, &extent);
  const auto bytes = static_cast<std::size_t>(call.count * extent);
  constexpr std::size_t guard = 64;
  const std::size_t room = bytes + 4 * guard;
  if (world.memory.size() < 5 * room) world.memory.resize(5 * room);
  const std::size_t off =
      64 - reinterpret_cast<std::uintptr_t>(world.memory.data()) % 64 + static_cast<std::size_t>(call.shift) % 64;
  unsigned char* const input = world.memory.data() + off;
  unsigned char* const expected = input + room / 64 * 64;
  unsigned char* const got = expected + room / 64 * 64;
  unsigned char* const kept = got + room / 64 * 64;
  fill(input, type, extent, call, world.rank);
  std::memcpy(kept, input, bytes);
  const auto run = [&](AllReduce all_reduce, unsigned char* output) {
    std::memset(output - guard / 2, 0xA5, bytes + guard);
    // Holes and padding are nobody's: the same in all buffers.
    std::memcpy(output, kept, bytes);
    if (!call.in_place && type.kind != Kind::derived && type.kind != Kind::extended && type.kind != Kind::pair)
      std::memset(output, 0x5A, bytes);
    const void* const from = call.in_place ? MPI_IN_PLACE : static_cast<void*>(input);
    all_reduce(from, output, static_cast<int>(call.count), type.type, operation, communicator);
  };
  run(world.native, expected);
  run(MPI_Allreduce, got);
  if (world.sabotage && call.count >= 100 && call.operation == 0) got[0] ^= 1;
  ++world.calls;
  const bool rounded = is_rounded(type, call);
  if (!rounded && std::memcmp(got, expected, bytes) != 0) return "another result than the MPI library's";
  if (rounded && out_of_bounds(got, type, call, members) > 0) return "beyond the rounding bound";
  for (std::size_t i = 0; i < guard / 2; ++i)
    if (got[bytes + i] != 0xA5 || *(got - 1 - i) != 0xA5) return "bytes beside the result were written";
  if (!call.in_place && std::memcmp(input, kept, bytes) != 0) return "the input was written";
  std::uint64_t hash = 14695981039346656037U;
  for (std::size_t i = 0; i < bytes; ++i)
    hash = (hash ^ got[i]) * 1099511628211U;
  std::uint64_t range[2] = {hash, ~hash}, least[2] = {};
  world.native(range, least, 2, MPI_UINT64_T, MPI_MIN, communicator);
  if (least[0] != ~least[1]) return "other bits than another rank's";
  run(MPI_Allreduce, expected);
  if (!world.sabotage && std::memcmp(got, expected, bytes) != 0) return "other bits the second time";
  return {};
}

/// Collective over all ranks: why the case fails on any of them.
std::string run(World& world, const Case& call, MPI_Comm communicator) {
  const std::string mine = run_here(world, call, communicator);
  int worst = mine.empty() ? world.ranks : world.rank, first = 0;
  world.native(&worst, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == world.ranks) return {};
  char text[128] = {};
  std::snprintf(text, sizeof text, "rank %d: %s", first, mine.c_str());
  MPI_Bcast(text, sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
  return text;
}

std::string run_alone(World& world, const Case& call) {
  MPI_Comm communicator = communicator_of(world, call);
  const std::string why = run(world, call, communicator);
  MPI_Comm_free(&communicator);
  return why;
}

void report(const World& world, const Case& failed, const std::string& why) {
  if (world.rank != 0) return;
  const Options& options = failed.options;
  std::printf("differential: FAILED, %s\n  type %s, operation %s, count %ld, %s, shift %d, %s values, salt %llu\n"
              "  communicator %s, ALGORITHM=%s SLICE=%s WINDOW=%s LEVELS=%s TRANSPORTS=%s REPRODUCIBLE=%s\n",
              why.c_str(), world.tables.types[static_cast<std::size_t>(failed.type)].name,
              world.tables.operations[static_cast<std::size_t>(failed.operation)].name, failed.count,
              failed.in_place ? "in place" : "two buffers", failed.shift, failed.spread ? "spread" : "whole",
              static_cast<unsigned long long>(failed.salt), grouping_names[static_cast<int>(failed.grouping)],
              options.algorithm.c_str(), options.slice.c_str(), options.window.c_str(), options.levels.c_str(),
              options.transports.c_str(), options.reproducible.c_str());
}

void shrink(World& world, Case failed, std::string why) {
  for (bool simpler_fails = true; simpler_fails;) {
    simpler_fails = false;
    for (const Case& candidate : simpler(failed)) {
      const std::string still = run_alone(world, candidate);
      if (still.empty()) continue;
      failed = candidate;
      why = still;
      simpler_fails = true;
      break;
    }
  }
  report(world, failed, why);
}

/// Calls on one communicator after the other until the time or the number is over. The number of failures.
int run_all(World& world, std::uint64_t seed, double seconds, long calls) {
  Random random(seed);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    // On a busy machine too, some groups with several ranks come by.
    constexpr long least_calls = 60;
    int over = (spent.count() > seconds && world.calls >= least_calls) || world.calls >= calls ? 1 : 0;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (over != 0) return 0;
    Case drawn;
    draw_setting(random, world.ranks, drawn);
    MPI_Comm communicator = communicator_of(world, drawn);
    for (int i = 0; i < 12; ++i) {
      draw_call(random, static_cast<int>(world.tables.types.size()), static_cast<int>(world.tables.operations.size()),
                drawn);
      const Type& type = world.tables.types[static_cast<std::size_t>(drawn.type)];
      while (!is_defined(type, drawn.operation))
        drawn.operation = random.below(static_cast<int>(world.tables.operations.size()));
      const std::string why = run(world, drawn, communicator);
      if (why.empty()) continue;
      report(world, drawn, why);
      if (world.rank == 0) std::printf("differential: made simpler as far as it goes:\n");
      shrink(world, drawn, why);
      return 1;
    }
    MPI_Comm_free(&communicator);
  }
}

} // namespace
} // namespace differential

int main(int count, char** arguments) {
  using namespace differential;
  MPI_Init(&count, &arguments);
  int failures = 0;
  {
    World world;
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    std::uint64_t seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    double seconds = 1e9;
    long calls = 1000000000;
    for (int i = 1; i < count; ++i) {
      const std::string flag = arguments[i];
      if (flag == "--sabotage") world.sabotage = true;
      if (i + 1 == count) break;
      if (flag == "--seed") seed = std::strtoull(arguments[i + 1], nullptr, 10);
      if (flag == "--seconds") seconds = std::atof(arguments[i + 1]);
      if (flag == "--calls") calls = std::atol(arguments[i + 1]);
    }
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    using Introspect = const strata_mpi_introspection* (*)();
    if (void* symbol = dlsym(RTLD_DEFAULT, "strata_mpi_introspect"))
      world.strata = reinterpret_cast<Introspect>(symbol)();
    world.native =
        world.strata != nullptr ? reinterpret_cast<AllReduce>(world.strata->native_allreduce) : PMPI_Allreduce;
    if (world.rank == 0) {
      std::printf("differential: seed %llu, %d ranks, %s strata\n", static_cast<unsigned long long>(seed), world.ranks,
                  world.strata != nullptr ? "with" : "without");
      std::fflush(stdout);
    }
    failures = run_all(world, seed, seconds, calls);
    if (world.rank == 0 && failures == 0) std::printf("differential: %ld calls, no difference\n", world.calls);
  }
  MPI_Finalize();
  return failures;
}
