// SPDX-License-Identifier: BSD-3-Clause
// Records of communicators: attached as an attribute, which a duplicate does not inherit and whose deletion only marks
// the record, because the MPI library may be in any state at that moment.
#include "mpi/bootstrap.h"
#include "mpi/state.h"

#include "base/log.h"

#include <algorithm>
#include <array>
#include <list>
#include <new>
#include <numeric>

namespace strata::mpi {
namespace {

using Records = std::list<std::shared_ptr<CommunicatorRecord>>;

/// Ranks that were spawned or connected need not have been preloaded, and strata's own communicator does not reach
/// them.
bool is_within_world(MPI_Group group) {
  MPI_Group world = MPI_GROUP_NULL;
  int ranks = 0;
  PMPI_Group_size(group, &ranks);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  bool within = true;
  std::array<int, 256> here{}, there{}; // some at a time: takes no memory
  for (int first = 0; first < ranks && within;) {
    const int some = std::min(ranks - first, static_cast<int>(here.size()));
    std::iota(here.begin(), here.end(), first);
    there.fill(MPI_UNDEFINED);
    PMPI_Group_translate_ranks(group, some, here.data(), world, there.data());
    within = std::find(there.begin(), there.begin() + some, MPI_UNDEFINED) == there.begin() + some;
    first += some;
  }
  PMPI_Group_free(&world);
  return within;
}

/// `group_of` is PMPI_Comm_group or PMPI_Comm_remote_group.
bool is_within_world(MPI_Comm communicator, int (*group_of)(MPI_Comm, MPI_Group*)) {
  if (communicator == MPI_COMM_WORLD) return true;
  MPI_Group group = MPI_GROUP_NULL;
  group_of(communicator, &group);
  const bool within = is_within_world(group);
  PMPI_Group_free(&group);
  return within;
}

/// Contexts of communicators that are gone; not in the attribute callback (see above).
void settle_released(State& now) {
  Records gone;
  {
    const std::lock_guard lock(now.mutex);
    gone.swap(now.released);
  }
}

/// In a list of its own, which another takes over without memory.
Records new_record(State& now, MPI_Comm communicator) {
  Records made;
  CommunicatorRecord& record = *made.emplace_back(std::make_shared<CommunicatorRecord>());
  auto bootstrap = std::make_unique<CommunicatorBootstrap>(communicator, now);
  record.bootstrap = bootstrap.get();
  record.together = std::make_shared<comm::AllOrNone>(std::move(bootstrap));
  return made;
}

/// The spare one, where there is no memory for another. Other ranks may have it, and will wait for this one when they
/// make a context: with a record, this rank takes part and says that it cannot.
Records take_record(State& now, MPI_Comm communicator) noexcept {
  Records taken;
  try {
    taken = new_record(now, communicator);
    keep_spare_record(now);
  } catch (const std::bad_alloc&) {
  }
  if (!taken.empty()) return taken;
  {
    const std::lock_guard lock(now.mutex);
    taken.swap(now.spare);
  }
  if (taken.empty()) return new_record(now, communicator); // what it throws ends the process: see state.h
  taken.front()->bootstrap->move_to(communicator);
  return taken;
}

/// Never for a communicator that the MPI library does not know: then a handler of the program's could be called.
CommunicatorRecord* add_record(State& now, MPI_Comm communicator) noexcept {
  settle_released(now); // or a program that makes and frees communicators for ever would fill its memory with them
  int between = 0, ranks = 0;
  if (PMPI_Comm_test_inter(communicator, &between) != MPI_SUCCESS ||
      PMPI_Comm_size(communicator, &ranks) != MPI_SUCCESS)
    return nullptr;
  Records taken = take_record(now, communicator);
  const std::shared_ptr<CommunicatorRecord> record = taken.front();
  record->communicator = communicator;
  const bool within_world = (between != 0 || ranks > 1) && is_within_world(communicator, PMPI_Comm_group);
  record->eligible = between == 0 && within_world;
  record->between_groups = between != 0 && within_world && is_within_world(communicator, PMPI_Comm_remote_group);
  if (!record->eligible) {
    record->bootstrap = nullptr;
    record->together.reset();
  }
  if (PMPI_Comm_set_attr(communicator, now.key, record.get()) != MPI_SUCCESS) return nullptr;
  const std::lock_guard lock(now.mutex);
  now.records.splice(now.records.end(), taken);
  return record.get();
}

} // namespace

void keep_spare_record(State& now) {
  {
    const std::lock_guard lock(now.mutex);
    if (!now.spare.empty()) return;
  }
  Records made = new_record(now, MPI_COMM_WORLD); // which no communicator with a context is larger than
  const std::lock_guard lock(now.mutex);
  if (now.spare.empty()) now.spare.swap(made);
}

CommunicatorRecord* record_of(State& now, MPI_Comm communicator) {
  if (communicator == MPI_COMM_NULL) return nullptr;
  void* attached = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(communicator, now.key, static_cast<void*>(&attached), &found) != MPI_SUCCESS) return nullptr;
  return found != 0 ? static_cast<CommunicatorRecord*>(attached) : add_record(now, communicator);
}

bool make_context(State& now, CommunicatorRecord& record) {
  settle_released(now);
  auto context = comm::Context::create(*now.process, record.together);
  record.failed = !context;
  if (context) record.context = std::move(*context);
  try {
    if (context)
      record.context->tell();
    else if (now.process->options().log_choice)
      log_line(context.error().message + "; this communicator stays with the MPI library");
  } catch (const std::bad_alloc&) { // the other ranks have gone on, so this one does too
  }
  return !record.failed;
}

} // namespace strata::mpi

/// MPI calls this when a communicator is freed.
extern "C" int strata_mpi_communicator_gone(MPI_Comm communicator, int, void* attached, void*) {
  using namespace strata::mpi;
  State& now = state();
  if (now.last.communicator == communicator) now.last = {}; // the handle may be used again
  const std::lock_guard lock(now.mutex);
  const auto record =
      std::find_if(now.records.begin(), now.records.end(), [&](const auto& known) { return known.get() == attached; });
  if (record == now.records.end()) return MPI_SUCCESS;
  now.released.splice(now.released.end(), now.records, record); // takes no memory
  return MPI_SUCCESS;
}
