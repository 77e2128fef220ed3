// SPDX-License-Identifier: BSD-3-Clause
// The way of one MPI_Allreduce: to strata's context, or to the MPI library, decided alike on all ranks from what MPI
// requires to be equal on all of them: the communicator, the count, the kind of type and the operation.
#include "mpi/state.h"

namespace strata::mpi {
namespace {

int go_native(State& state, Reason reason, const void* send, void* receive, int count, MPI_Datatype datatype,
              MPI_Op operation, MPI_Comm communicator) {
  const auto index = static_cast<std::size_t>(reason);
  std::atomic<std::uint64_t>& calls = state.native_calls[index];
  if (state.several_threads)
    calls.fetch_add(1, std::memory_order_relaxed);
  else
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); // a fifth of the price
  return state.native_allreduce(send, receive, count, datatype, operation, communicator);
}

/// Whether this MPI library rejects the buffers before it sends anything: then it is to say so itself. With no buffer,
/// or with MPI_IN_PLACE for the result, any MPI library says so or crashes.
bool rejected(const State& state, const void* send, const void* receive, int count) {
  if (send == nullptr || receive == nullptr || receive == MPI_IN_PLACE) return true;
  return send == receive && (count == 1 ? state.rejections.equal_buffers_of_one : state.rejections.equal_buffers);
}

comm::Call call_of(const LastCall& known, const void* send, void* receive, int count) {
  comm::Call call;
  call.input = send == MPI_IN_PLACE ? receive : send;
  call.output = receive;
  call.elements = count;
  call.element = known.element;
  call.operation = known.reduction;
  return call;
}

/// The MPI library's turn in a trial of strata's.
int go_native_on_trial(State& state, const LastCall& known, const void* send, void* receive, int count) {
  const int code =
      go_native(state, Reason::predicted, send, receive, count, known.datatype, known.operation, known.communicator);
  known.context->native_done(call_of(known, send, receive, count));
  return code;
}

/// Looks the call up; fills `known`, or says why the MPI library is to do it.
std::optional<Reason> look_up(State& state, LastCall& known, MPI_Datatype datatype, MPI_Op operation,
                              MPI_Comm communicator, CommunicatorRecord*& record) {
  if (!state.active.load(std::memory_order_acquire)) return Reason::outside;
  const auto reduction = state.handles.operation(operation);
  if (!reduction) return Reason::type_or_operation;
  const auto element = state.handles.element(datatype, *reduction);
  if (!element) return Reason::type_or_operation;
  record = record_of(state, communicator);
  if (record == nullptr || !record->eligible) return Reason::communicator;
  known = {communicator, datatype, operation, nullptr, *element, *reduction};
  return std::nullopt;
}

/// The record's context, made when it is due. Same answer on all ranks.
std::optional<Reason> find_context(State& state, CommunicatorRecord& record, LastCall& known) {
  if (!record.context) {
    if (record.failed) return Reason::no_context;
    if (++record.calls < state.process->options().context_calls) return Reason::not_yet;
    if (!make_context(state, record)) return Reason::no_context;
  }
  known.context = record.context.get();
  return std::nullopt;
}

int look_up_and_run(State& state, const void* send, void* receive, int count, MPI_Datatype datatype, MPI_Op operation,
                    MPI_Comm communicator) {
  const auto native = [&](Reason reason) {
    return go_native(state, reason, send, receive, count, datatype, operation, communicator);
  };
  if (count <= 0) return native(Reason::empty);
  LastCall known;
  CommunicatorRecord* record = nullptr;
  if (const auto reason = look_up(state, known, datatype, operation, communicator, record)) {
    const bool lasts = *reason == Reason::type_or_operation || (*reason == Reason::communicator && record != nullptr);
    if (lasts && !state.several_threads) state.last = {communicator, datatype, operation, nullptr, {}, {}, *reason};
    return native(*reason);
  }
  if (rejected(state, send, receive, count)) return native(Reason::arguments);
  std::unique_lock lock(record->mutex, std::defer_lock);
  if (state.several_threads) lock.lock();
  if (const auto reason = find_context(state, *record, known)) return native(*reason);
  if (!state.several_threads) state.last = known;
  const comm::Outcome outcome = known.context->all_reduce(call_of(known, send, receive, count));
  if (outcome == comm::Outcome::native_on_trial) return go_native_on_trial(state, known, send, receive, count);
  if (lock.owns_lock()) lock.unlock(); // the MPI library may wait long
  return outcome == comm::Outcome::done ? MPI_SUCCESS : native(Reason::predicted);
}

} // namespace

int allreduce(const void* send, void* receive, int count, strata_mpi_handle raw_datatype,
              strata_mpi_handle raw_operation, strata_mpi_handle raw_communicator) {
  State& now = state();
  const auto datatype = as_handle<MPI_Datatype>(raw_datatype);
  const auto operation = as_handle<MPI_Op>(raw_operation);
  const auto communicator = as_handle<MPI_Comm>(raw_communicator);
  const LastCall& last = now.last;
  // At first `last` holds null handles, and they may be what was passed.
  if (communicator != last.communicator || datatype != last.datatype || operation != last.operation || count <= 0)
    return look_up_and_run(now, send, receive, count, datatype, operation, communicator);
  if (last.context == nullptr)
    return go_native(now, last.reason, send, receive, count, datatype, operation, communicator);
  if (!rejected(now, send, receive, count)) [[likely]] {
    const comm::Outcome outcome = last.context->all_reduce(call_of(last, send, receive, count));
    if (outcome == comm::Outcome::done) [[likely]]
      return MPI_SUCCESS;
    if (outcome == comm::Outcome::native_on_trial) return go_native_on_trial(now, LastCall(last), send, receive, count);
    return go_native(now, Reason::predicted, send, receive, count, datatype, operation, communicator);
  }
  return look_up_and_run(now, send, receive, count, datatype, operation, communicator);
}

} // namespace strata::mpi
