// SPDX-License-Identifier: BSD-3-Clause
// Records of communicators: attached as an attribute, which a duplicate does not inherit and whose deletion only marks
// the record, because the MPI library may be in any state at that moment.
#include "mpi/bootstrap.h"
#include "mpi/state.h"

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

/// What kind of communicator it is; false if the MPI library does not know it. Takes no memory.
bool find_kind(CommunicatorRecord& record, MPI_Comm communicator) {
  int between = 0, ranks = 0;
  if (PMPI_Comm_test_inter(communicator, &between) != MPI_SUCCESS ||
      PMPI_Comm_size(communicator, &ranks) != MPI_SUCCESS)
    return false;
  const bool within_world = (between != 0 || ranks > 1) && is_within_world(communicator, PMPI_Comm_group);
  record.communicator = communicator;
  record.eligible = between == 0 && within_world;
  record.between_groups = between != 0 && within_world && is_within_world(communicator, PMPI_Comm_remote_group);
  return true;
}

/// In a list of its own, which another takes over without memory; empty if there is none.
Records new_record(State& now, MPI_Comm communicator) noexcept {
  try {
    Records made;
    CommunicatorRecord& record = *made.emplace_back(std::make_shared<CommunicatorRecord>());
    if (!find_kind(record, communicator)) return {};
    if (record.eligible)
      record.together = std::make_shared<comm::AllOrNone>(std::make_unique<CommunicatorBootstrap>(communicator, now));
    return made;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

/// Never for a communicator that the MPI library does not know: then a handler of the program's could be called.
CommunicatorRecord* add_record(State& now, MPI_Comm communicator) noexcept {
  settle_released(now); // or a program that makes and frees communicators for ever would fill its memory with them
  Records made = new_record(now, communicator);
  if (made.empty()) return nullptr;
  CommunicatorRecord* const record = made.front().get();
  if (PMPI_Comm_set_attr(communicator, now.key, record) != MPI_SUCCESS) return nullptr;
  const std::lock_guard lock(now.mutex);
  now.records.splice(now.records.end(), made);
  return record;
}

// What a stand-in knows, as the attribute of its communicator: an odd number, which no record's address is.
constexpr unsigned count_bits = (8 * sizeof(std::uintptr_t) - 4) / 2;
constexpr std::uintptr_t most_calls = (std::uintptr_t{1} << count_bits) - 1;

bool is_stand_in(const void* attached) { return (reinterpret_cast<std::uintptr_t>(attached) & 1) != 0; }

void* packed(const CommunicatorRecord& record) {
  const auto counts = std::min<std::uintptr_t>(record.calls, most_calls) << count_bits |
                      std::min<std::uintptr_t>(record.checked_calls, most_calls);
  return reinterpret_cast<void*>(counts << 4 | std::uintptr_t{record.failed} << 3 |
                                 std::uintptr_t{record.between_groups} << 2 | std::uintptr_t{record.eligible} << 1 | 1);
}

void unpack(CommunicatorRecord& record, MPI_Comm communicator, const void* attached) {
  const auto value = reinterpret_cast<std::uintptr_t>(attached);
  record.communicator = communicator;
  record.eligible = (value >> 1 & 1) != 0;
  record.between_groups = (value >> 2 & 1) != 0;
  record.failed = (value >> 3 & 1) != 0;
  record.checked_calls = value >> 4 & most_calls;
  record.calls = value >> 4 >> count_bits;
}

} // namespace

CalledCommunicator::CalledCommunicator(State& now, MPI_Comm communicator) : now_(now) {
  void* attached = nullptr;
  int found = 0;
  if (communicator == MPI_COMM_NULL ||
      PMPI_Comm_get_attr(communicator, now.key, static_cast<void*>(&attached), &found) != MPI_SUCCESS)
    return;
  if (found == 0)
    record_ = add_record(now, communicator);
  else if (!is_stand_in(attached))
    record_ = static_cast<CommunicatorRecord*>(attached);
  if (record_ != nullptr) return;
  stand_in_.emplace();
  if (found == 0 && !find_kind(*stand_in_, communicator)) return;
  if (found != 0) unpack(*stand_in_, communicator, attached);
  attached_ = attached;
  record_ = &*stand_in_;
}

CalledCommunicator::~CalledCommunicator() {
  if (!stand_in_ || record_ == nullptr) return;
  // Not after each of the calls to come: they are the MPI library's.
  if (void* const value = packed(*stand_in_); value != attached_)
    PMPI_Comm_set_attr(stand_in_->communicator, now_.key, value);
}

bool make_context(State& now, CommunicatorRecord& record) {
  settle_released(now);
  if (!record.together) { // a stand-in
    CommunicatorBootstrap bootstrap(record.communicator, now);
    comm::AllOrNone::decline(bootstrap, now.room_to_decline.data());
    record.failed = true;
    return false;
  }
  auto context = comm::Context::create(*now.process, record.together);
  record.failed = !context;
  if (context) record.context = std::move(*context);
  try {
    if (context)
      record.context->tell();
    else if (now.process->options().log_choice)
      now.process->say_once(context.error().message + "; this communicator stays with the MPI library");
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
  if (is_stand_in(attached)) return MPI_SUCCESS;
  const std::lock_guard lock(now.mutex);
  const auto record =
      std::find_if(now.records.begin(), now.records.end(), [&](const auto& known) { return known.get() == attached; });
  if (record == now.records.end()) return MPI_SUCCESS;
  now.released.splice(now.released.end(), now.records, record); // takes no memory
  return MPI_SUCCESS;
}
