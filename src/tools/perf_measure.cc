// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf_measure.h"

#include "tools/mpi_trials.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace strata::tools {
namespace {

using type::Element;
using type::Operation;

constexpr double batch_seconds = 1e-3; // long beside the clock's resolution and the barrier's skew
// The caches are to be as the measured calls leave them, not as the other kind's did: to fetch a vector of 512 KiB anew
// takes as long as five calls. Vectors that no cache keeps need no such company.
constexpr std::uint64_t batch_calls = 32;
constexpr double most_pair_seconds = 20e-3; // for the sake of that
constexpr double warming_seconds = 2e-3;
constexpr std::uint64_t most_calls = 5000, most_pairs = 5000, fewest_pairs = 5;

MPI_Datatype datatype_of(Element element) {
  switch (element) {
  case Element::int8:
    return MPI_INT8_T;
  case Element::uint8:
    return MPI_UINT8_T;
  case Element::int16:
    return MPI_INT16_T;
  case Element::uint16:
    return MPI_UINT16_T;
  case Element::int32:
    return MPI_INT32_T;
  case Element::uint32:
    return MPI_UINT32_T;
  case Element::int64:
    return MPI_INT64_T;
  case Element::uint64:
    return MPI_UINT64_T;
  case Element::float32:
    return MPI_FLOAT;
  default:
    return MPI_DOUBLE;
  }
}

MPI_Op operation_of(Operation operation) {
  switch (operation) {
  case Operation::sum:
    return MPI_SUM;
  case Operation::product:
    return MPI_PROD;
  case Operation::minimum:
    return MPI_MIN;
  case Operation::maximum:
    return MPI_MAX;
  case Operation::logical_and:
    return MPI_LAND;
  case Operation::logical_or:
    return MPI_LOR;
  case Operation::logical_xor:
    return MPI_LXOR;
  case Operation::bitwise_and:
    return MPI_BAND;
  case Operation::bitwise_or:
    return MPI_BOR;
  default:
    return MPI_BXOR;
  }
}

/// As the libraries' mpi-ext.h declares it; not all of them have it.
bool library_takes_device_memory() {
  using Query = int (*)();
  const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query != nullptr && query() == 1;
}

} // namespace

Bench::Bench(const PerfFlags& flags, const strata_mpi_introspection& strata, PerfMemory& memory)
    : flags_(flags), strata_(strata), memory_(memory), datatype_(datatype_of(flags.element)),
      operation_(operation_of(flags.operation)), rank_(rank_in_world()),
      known_(flags.element, flags.operation, ranks_in_world()) {}

Status Bench::take_memory() {
  const std::size_t most = *std::max_element(flags_.sizes.begin(), flags_.sizes.end());
  struct Taken {
    Vector& vector;
    Result<Vector> (PerfMemory::*from)(std::size_t);
  };
  std::vector<Taken> all{{input_, &PerfMemory::allocate}, {output_, &PerfMemory::allocate}};
  if (memory_.is_apart()) {
    all.push_back({host_input_, &PerfMemory::allocate_for_host});
    all.push_back({host_output_, &PerfMemory::allocate_for_host});
  }
  for (const Taken& one : all) {
    auto made = (memory_.*one.from)(most);
    if (!made) return made.error();
    one.vector = std::move(*made);
  }
  native_takes_device_ = library_takes_device_memory();
  return ok();
}

bool Bench::take_communicator() {
  if (!flags_.reproducible) return true;
  if (strata_.version < 2 || strata_.set_option("REPRODUCIBLE", "1") != 0) return false;
  MPI_Comm_dup(MPI_COMM_WORLD, &reproducible_);
  const bool served = context_facts(strata_, reproducible_).contains("ranks");
  strata_.set_option("REPRODUCIBLE", "0");
  return served;
}

double Bench::take_pair() {
  pair_ = std::make_unique<NodePair>();
  return pair_->flag_seconds();
}

void Bench::call(const Kind& kind) const {
  if (kind.is_native && stages_native()) return call_staged(kind);
  const void* const input = flags_.in_place ? MPI_IN_PLACE : input_.get();
  kind.function(input, output_.get(), static_cast<int>(kind.elements), datatype_, operation_, kind.communicator);
}

/// What a program has to do whose MPI library knows nothing of the device.
void Bench::call_staged(const Kind& kind) const {
  const std::size_t bytes = kind.elements * type::bytes_of(flags_.element);
  copy(flags_.in_place ? host_output() : host_input(), flags_.in_place ? output_.get() : input_.get(), bytes);
  kind.function(flags_.in_place ? MPI_IN_PLACE : host_input(), host_output(), static_cast<int>(kind.elements),
                datatype_, operation_, kind.communicator);
  copy(output_.get(), host_output(), bytes);
}

void Bench::copy(void* to, const void* from, std::size_t bytes) const {
  if (const Status copied = memory_.copy(to, from, bytes); !copied) end_job("strata-perf", copied.error().message);
}

void Bench::fill_input(std::size_t elements, int rank) {
  known_.fill(host_input(), elements, rank);
  if (host_input_) copy(input_.get(), host_input(), elements * type::bytes_of(flags_.element));
}

double Bench::batch(const Kind& kind, std::uint64_t calls) const {
  double seconds = 0;
  if (flags_.pace == Pace::back_to_back) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = clock_seconds();
    for (std::uint64_t i = 0; i < calls; ++i)
      call(kind);
    seconds = clock_seconds() - begin;
  } else {
    for (std::uint64_t i = 0; i < calls; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = clock_seconds();
      call(kind);
      seconds += clock_seconds() - begin;
    }
  }
  return seconds / static_cast<double>(calls);
}

/// One call on vectors whose result is known. All ranks' wrong elements, on rank 0.
std::int64_t Bench::wrong_elements(const Kind& kind) {
  const std::size_t bytes = kind.elements * type::bytes_of(flags_.element);
  fill_input(kind.elements, rank_);
  if (flags_.in_place)
    std::memcpy(host_output(), host_input(), bytes);
  else
    std::memset(host_output(), 0xa5, bytes);
  if (host_output_) copy(output_.get(), host_output(), bytes);
  call(kind);
  if (host_output_) copy(host_output(), output_.get(), bytes);
  const std::int64_t mine = known_.differences(host_output(), kind.elements);
  std::int64_t all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  return all;
}

/// In place, the result is the next call's input: it must neither grow nor decay.
void Bench::fill_inputs(std::size_t elements) {
  if (!flags_.in_place) return fill_input(elements, rank_);
  fill_neutral(host_output(), elements, flags_.element, flags_.operation);
  if (host_output_) copy(output_.get(), host_output(), elements * type::bytes_of(flags_.element));
}

/// What strata counted a call under: the algorithm that really ran, not the one that was predicted.
std::string Bench::what_runs(const Kind& kind) const {
  const nlohmann::json before = statistics_facts(strata_);
  call(kind);
  const nlohmann::json after = statistics_facts(strata_);
  for (const char* group : {"algorithms", "native"}) {
    if (!after.contains(group)) continue;
    const nlohmann::json known = before.value(group, nlohmann::json::object());
    for (const auto& [name, counts] : after[group].items()) {
      const auto calls = counts.value("calls", std::uint64_t{0});
      const auto calls_before = known.contains(name) ? known[name].value("calls", std::uint64_t{0}) : 0;
      if (calls > calls_before) return group == std::string("native") ? "native: " + name : name;
    }
  }
  return "unknown";
}

/// Rank 0's first measurements decide for all.
Bench::Schedule Bench::settle(const Kind& native, const Kind& strata) const {
  constexpr std::uint64_t first_calls = 3;
  double slow = batch(native, first_calls), fast = batch(strata, first_calls);
  const std::uint64_t most_warming = calls_for(flags_.seconds / 10, slow + fast, 1, most_calls);
  std::uint64_t warming = calls_for(warming_seconds, std::min(slow, fast), 1, most_warming);
  MPI_Bcast(&warming, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  slow = batch(native, warming);
  fast = batch(strata, warming);
  Schedule schedule{};
  const double most_seconds = flags_.seconds / fewest_pairs; // of a pair
  const std::uint64_t fewest_calls = calls_for(std::min(most_pair_seconds, most_seconds), slow + fast, 1, batch_calls);
  const std::uint64_t most_batched = std::max(fewest_calls, calls_for(most_seconds, slow + fast, 1, most_calls));
  schedule.calls = calls_for(batch_seconds, std::min(slow, fast), fewest_calls, most_batched);
  const double pair_seconds = static_cast<double>(schedule.calls) * (slow + fast);
  schedule.pairs =
      flags_.iterations != 0 ? flags_.iterations : calls_for(flags_.seconds, pair_seconds, fewest_pairs, most_pairs);
  MPI_Bcast(&schedule.calls, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  MPI_Bcast(&schedule.pairs, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return schedule;
}

PerfRow Bench::measure(std::uint64_t bytes) {
  const std::size_t elements = bytes / type::bytes_of(flags_.element);
  const Kind native{reinterpret_cast<AllReduce>(strata_.native_allreduce), true, elements, MPI_COMM_WORLD};
  const Kind strata{MPI_Allreduce, false, elements, MPI_COMM_WORLD};
  const Kind reproducible{MPI_Allreduce, false, elements, reproducible_};
  PerfRow row;
  row.bytes = bytes;
  {
    const HastyTrials hasty(strata_, strata.communicator); // from the first calls on
    std::optional<HastyTrials> hasty_reproducible;
    if (flags_.reproducible) hasty_reproducible.emplace(strata_, reproducible_);
    if (flags_.check) {
      row.errors = wrong_elements(strata);
      row.native_errors = wrong_elements(native);
      if (flags_.reproducible) row.errors += wrong_elements(reproducible);
    }
    fill_inputs(elements);
    const double patience = flags_.settling > 0 ? flags_.settling : 10 * flags_.seconds;
    finish_trials(strata_, strata.communicator, bytes, 0, patience, [&](auto calls) { return batch(strata, calls); });
    if (flags_.reproducible)
      finish_trials(strata_, reproducible_, bytes, 0, patience, [&](auto calls) { return batch(reproducible, calls); });
  }
  row.predicted_seconds = choice_facts(strata_, MPI_COMM_WORLD, bytes).value("predicted_seconds", 0.0);
  const Schedule schedule = settle(native, strata);
  std::vector<double> native_seconds(schedule.pairs), strata_seconds(schedule.pairs);
  std::vector<double> reproducible_seconds(flags_.reproducible ? schedule.pairs : 0);
  for (std::uint64_t pair = 0; pair < schedule.pairs; ++pair) {
    native_seconds[pair] = batch(native, schedule.calls);
    strata_seconds[pair] = batch(strata, schedule.calls);
    if (flags_.reproducible) reproducible_seconds[pair] = batch(reproducible, schedule.calls);
  }
  native_seconds = longest_of_all(native_seconds);
  strata_seconds = longest_of_all(strata_seconds);
  row.way = choice_facts(strata_, MPI_COMM_WORLD, bytes).value("way", "");
  row.algorithm = what_runs(strata); // by now: a trial may have gone on for longer than anybody waited
  // Once more after all these calls, when slots and windows have gone round many times.
  if (flags_.check) row.errors += wrong_elements(strata);
  row.pairs = schedule.pairs;
  row.calls_per_batch = schedule.calls;
  row.native = spread_of(native_seconds);
  row.strata = spread_of(strata_seconds);
  row.ratio = ratio_of(native_seconds, strata_seconds);
  if (flags_.reproducible) row.price = ratio_of(longest_of_all(reproducible_seconds), strata_seconds);
  if (flags_.floor) row.copy_seconds = copy_seconds(memory_, output_.get(), input_.get(), bytes);
  if (pair_ && !memory_.is_apart()) row.exchange_seconds = pair_->exchange_seconds(output_.get(), input_.get(), bytes);
  return row;
}

} // namespace strata::tools
