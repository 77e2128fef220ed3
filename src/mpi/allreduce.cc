// SPDX-License-Identifier: BSD-3-Clause
// The way of one MPI_Allreduce: to strata's context, or to the MPI library, decided alike on all ranks from what MPI
// requires to be equal on all of them: the communicator, the count, the kind of type and the operation.
#include "mpi/check.h"
#include "mpi/native.h"
#include "mpi/rejections.h"

namespace strata::mpi {
namespace {

/// The call as a timeline shows it; only in a job that is traced, and of arguments that were looked at: of others the
/// MPI library is to complain itself.
trace::RecordedCall recorded_native(State& state, const Arguments& given) {
  static const std::string name = "native";
  int bytes = 0, ranks = 0;
  PMPI_Type_size(given.datatype, &bytes);
  PMPI_Comm_size(given.communicator, &ranks);
  return {state.recorder, name, ranks, 0, static_cast<std::size_t>(std::max<std::int64_t>(given.count, 0) * bytes)};
}

int hand_over(State& state, const Arguments& given) {
  if (state.device != nullptr && state.device->in_use()) [[unlikely]]
    return call_native_beside_device(state, given);
  return call_native(state, given);
}

int go_native(State& state, Reason reason, const Arguments& given) {
  const auto index = static_cast<std::size_t>(reason);
  std::atomic<std::uint64_t>& calls = state.native_calls[index];
  if (state.several_threads)
    calls.fetch_add(1, std::memory_order_relaxed);
  else
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); // a fifth of the price
  if (state.recorder != nullptr && (reason == Reason::predicted || reason == Reason::not_yet)) [[unlikely]] {
    const auto recorded = recorded_native(state, given);
    return hand_over(state, given);
  }
  return hand_over(state, given);
}

comm::Call call_of(const LastCall& known, const Arguments& given) {
  comm::Call call;
  call.input = given.send == MPI_IN_PLACE ? given.receive : given.send;
  call.output = given.receive;
  call.elements = given.count * known.items.elements;
  call.element = known.items.element;
  call.operation = known.reduction;
  return call;
}

/// strata's own part; what it throws must not pass through the C functions that called.
comm::Outcome run(const LastCall& known, const Arguments& given) noexcept {
  return known.context->all_reduce(call_of(known, given));
}
void native_done(const LastCall& known, const Arguments& given) noexcept {
  known.context->native_done(call_of(known, given));
}

/// The MPI library's turn in a trial of strata's. `lock` is of the communicator, if it is needed: not meanwhile,
/// because the MPI library may wait long, and handlers of the program may call MPI.
int go_native_on_trial(State& state, const LastCall& known, const Arguments& given,
                       std::unique_lock<std::mutex> lock = {}) {
  const bool locked = lock.owns_lock();
  if (locked) lock.unlock();
  const int code = go_native(state, Reason::predicted, given);
  if (locked) lock.lock();
  native_done(known, given);
  return code;
}

/// A peer or a device is gone: what it would have added is lost.
int report_loss(State& state, const comm::Context& context, MPI_Comm communicator) {
  return raise_error(state, communicator, MPI_ERR_OTHER, context.trouble());
}

/// Another thread of the program's may see that MPI is initialised while MPI_Init is still here: ranks that took such a
/// call for one outside of MPI_Init would count fewer calls than others, and it could come between strata's own.
void wait_for_the_start(const State& state) noexcept {
  for (std::thread::id starting; (starting = state.starting.load(std::memory_order_acquire)) != std::thread::id();
       std::this_thread::yield()) {
    int initialised = 0;
    PMPI_Initialized(&initialised);
    // Called back; or on a communicator of a session, for which MPI_Init on another rank may wait.
    if (starting == std::this_thread::get_id() || initialised == 0) return;
  }
}

/// Looks the call up; fills `known`, or says why the MPI library is to do it.
std::optional<Reason> look_up(State& state, LastCall& known, const Arguments& given,
                              CommunicatorRecord* record) noexcept {
  if (!state.active.load(std::memory_order_acquire)) return Reason::outside;
  const auto reduction = state.handles.operation(given.operation);
  if (!reduction) return Reason::type_or_operation;
  const auto items = state.handles.items(given.datatype, *reduction);
  if (!items) return Reason::type_or_operation;
  if (record == nullptr || !record->eligible) return Reason::communicator;
  known = {given.communicator, given.datatype, given.operation, nullptr, *items, *reduction};
  return std::nullopt;
}

/// Where the buffers of a call are counts already when the context for it is made.
void see_buffers(const State& state, const Arguments& given) noexcept {
  if (state.device == nullptr) return;
  if (given.send != MPI_IN_PLACE) state.device->see(given.send);
  state.device->see(given.receive);
}

/// The record's context, made when it is due. Same answer on all ranks.
std::optional<Reason> find_context(State& state, CommunicatorRecord& record, LastCall& known,
                                   const Arguments& given) noexcept {
  if (!record.context) {
    if (record.failed) return Reason::no_context;
    if (++record.calls < state.process->options().context_calls) return Reason::not_yet;
    see_buffers(state, given);
    if (!make_context(state, record)) return Reason::no_context;
  }
  known.context = record.context.get();
  return std::nullopt;
}

/// What the last call may keep, so that the next need not be looked up.
void remember(State& state, const LastCall& known) {
  if (!state.several_threads && !state.check) state.last = known;
}

int look_up_and_run(State& state, const Arguments& given) {
  if (!state.active.load(std::memory_order_acquire)) wait_for_the_start(state);
  if (given.count <= 0 && !state.check) return go_native(state, Reason::empty, given);
  std::optional<CalledCommunicator> called;
  if (state.active.load(std::memory_order_acquire)) called.emplace(state, given.communicator);
  CommunicatorRecord* const record = called ? called->record() : nullptr;
  if (state.check && record != nullptr && (record->eligible || record->between_groups)) {
    const int code = compare_arguments(state, *record, {given.count, given.datatype, given.operation});
    if (code != MPI_SUCCESS) return code;
  }
  if (given.count <= 0) return go_native(state, Reason::empty, given);
  LastCall known;
  if (const auto reason = look_up(state, known, given, record)) {
    if (*reason == Reason::type_or_operation || (*reason == Reason::communicator && record != nullptr))
      remember(state, {given.communicator, given.datatype, given.operation, nullptr, {}, {}, *reason});
    return go_native(state, *reason, given);
  }
  if (rejects_buffers(state, given)) return go_native(state, Reason::arguments, given);
  std::unique_lock lock(record->mutex, std::defer_lock);
  if (state.several_threads) lock.lock();
  const auto reason = find_context(state, *record, known, given);
  if (!reason) remember(state, known);
  const comm::Outcome outcome = reason ? comm::Outcome::native : run(known, given);
  if (outcome == comm::Outcome::native_on_trial) return go_native_on_trial(state, known, given, std::move(lock));
  if (lock.owns_lock()) lock.unlock(); // as in a trial
  if (reason) return go_native(state, *reason, given);
  if (outcome == comm::Outcome::peer_lost) return report_loss(state, *known.context, given.communicator);
  return outcome == comm::Outcome::done ? MPI_SUCCESS : go_native(state, Reason::predicted, given);
}

} // namespace

// Not noexcept: a program's error handler may throw, from the MPI library and through these to the program.
int allreduce(const void* send, void* receive, int count, strata_mpi_handle datatype, strata_mpi_handle operation,
              strata_mpi_handle communicator) {
  return allreduce_c(send, receive, count, datatype, operation, communicator);
}

int allreduce_c(const void* send, void* receive, std::int64_t count, strata_mpi_handle datatype,
                strata_mpi_handle operation, strata_mpi_handle communicator) {
  State& now = state();
  const Arguments given{send,
                        receive,
                        count,
                        as_handle<MPI_Datatype>(datatype),
                        as_handle<MPI_Op>(operation),
                        as_handle<MPI_Comm>(communicator)};
  const LastCall& last = now.last;
  // At first `last` holds null handles, and they may be what was passed.
  if (given.communicator != last.communicator || given.datatype != last.datatype || given.operation != last.operation ||
      count <= 0)
    return look_up_and_run(now, given);
  if (last.context == nullptr) return go_native(now, last.reason, given);
  if (rejects_buffers(now, given)) [[unlikely]]
    return look_up_and_run(now, given);
  const comm::Outcome outcome = run(last, given);
  if (outcome == comm::Outcome::done) [[likely]]
    return MPI_SUCCESS;
  if (outcome == comm::Outcome::native_on_trial) return go_native_on_trial(now, LastCall(last), given);
  if (outcome == comm::Outcome::peer_lost) return report_loss(now, *LastCall(last).context, given.communicator);
  return go_native(now, Reason::predicted, given);
}

} // namespace strata::mpi
