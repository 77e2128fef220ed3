// SPDX-License-Identifier: BSD-3-Clause
// From MPI_Init to MPI_Finalize, and the module's entry.
#include "comm/transports.h"
#include "mpi/bootstrap.h"
#include "mpi/dump.h"
#include "mpi/native.h"
#include "mpi/state.h"
#include "mpi/timeline.h"
#include "transport/mpi/mpi_transport.h"

#include "base/log.h"

#include <chrono>
#include <thread>

namespace strata::mpi {
namespace {

std::vector<comm::TransportMaker> transport_makers(State& now) {
  std::vector<comm::TransportMaker> makers = comm::transports_between_nodes();
  makers.push_back({"mpi", [&now](const Options&, comm::Device*) -> Result<std::unique_ptr<transport::Transport>> {
                      if (now.world == MPI_COMM_NULL)
                        return Error{ErrorKind::unsupported, "it is for jobs of several machines, or without shm in "
                                                             "STRATA_TRANSPORTS"};
                      return std::unique_ptr<transport::Transport>(
                          std::make_unique<transport::MpiTransport>(now.world));
                    }});
  return makers;
}

/// Waits until all ranks are here, so that none closes a connection that another still reads; not for ever. Whether the
/// communicator may be freed: not under a barrier that goes on, whose next rounds Open MPI sends from MPI_Finalize.
bool say_goodbye(MPI_Comm world) {
  MPI_Request request = MPI_REQUEST_NULL;
  int done = 0;
  if (PMPI_Ibarrier(world, &request) != MPI_SUCCESS) return true;
  const auto begin = std::chrono::steady_clock::now();
  while (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > std::chrono::seconds(5)) return false;
    // A rank that is late may need this core.
    if (waited > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

void free_communicator(State& now) {
  PMPI_Comm_free_keyval(&now.key);
  if (now.world != MPI_COMM_NULL) PMPI_Comm_free(&now.world);
}

/// Whether strata can run: all ranks have it. Takes over what rank 0 wants.
bool find_all_ranks(State& now, Options& options) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  now.handshake = std::make_unique<Handshake>(rank, ranks);
  const bool all_here = now.handshake->complete(options);
  if (rank == 0)
    for (const std::string& complaint : now.complaints)
      log_line(complaint);
  for (const std::string& complaint : now.handshake->complaints())
    log_line(complaint);
  return all_here;
}

/// strata's own communicator; after the handshake, because a duplicate is made by all ranks together. Not where it is
/// of no use: which numbers the MPI library gives to the program's communicators should not depend on us.
void make_communicator(State& now) {
  int ranks = 1;
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, strata_mpi_communicator_gone, &now.key, nullptr);
  if (ranks > 1 && now.handshake->needs_communicator()) duplicate_world(now);
}

/// What is to become of buffers in device memory.
void find_device(State& now) {
  const Options& options = now.process->options();
  now.device = now.process->device();
  if (const Error& why = now.process->why_no_device(); !why.message.empty()) {
    // Wrong, or asked for: else a machine without a device is nothing to tell.
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if ((why.kind == ErrorKind::argument && rank == 0) ||
        (options.log_choice && options.device != "auto" && options.device != "off"))
      log_line(why.message);
    return;
  }
  now.device_native = options.device_native;
  if (options.device_native != DeviceNative::automatic) return;
  const bool known = std::string_view(now.device->driver().name()) == "cuda" && native_knows_cuda(now);
  now.device_native = known ? DeviceNative::pass : DeviceNative::stage;
}

void start(State& now) noexcept {
  if (now.active.load(std::memory_order_acquire)) return;
  Options options = options_from_environment(now.complaints);
  if (options.mode == Mode::off) { // here only to refuse what the MPI library may not reach
    now.process = std::make_unique<comm::Process>(std::move(options), transport::shm::Backing::memfd,
                                                  std::vector<comm::TransportMaker>());
    find_device(now);
    return;
  }
  if (!find_all_ranks(now, options)) return;
  if (options.reproducible) options.context_calls = 1; // the MPI library's order of operands is its own
  now.check = options.check;
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  now.several_threads = level == MPI_THREAD_MULTIPLE;
  now.handles.collect();
  make_communicator(now);
  now.process =
      std::make_unique<comm::Process>(std::move(options), transport::shm::Backing::memfd, transport_makers(now));
  if (now.handshake->traced()) now.process->start_recording();
  now.recorder = now.process->recorder();
  find_device(now);
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  now.process->set_place_in_job(rank, ranks);
  now.probed_rank = (rank + 1) % ranks;
  if (const int signal = now.process->options().dump_signal; signal != 0)
    if (const std::string complaint = dump_on_signal(signal, now.process->activity()); !complaint.empty() && rank == 0)
      log_line(complaint);
  now.room_to_decline.resize(comm::AllOrNone::bytes_to_decline(ranks));
  now.active.store(now.process->options().mode != Mode::off, std::memory_order_release);
}

} // namespace

State& state() {
  // Never destroyed: calls may come from other libraries' destructors.
  static State* const now = new State;
  return *now;
}

void duplicate_world(State& now) {
  if (PMPI_Comm_dup(MPI_COMM_WORLD, &now.world) == MPI_SUCCESS)
    PMPI_Comm_set_errhandler(now.world, MPI_ERRORS_RETURN); // a rank that is gone need not end the others
}

const char* text_of(Reason reason) {
  switch (reason) {
  case Reason::predicted:
    return "predicted or seen to be faster";
  case Reason::not_yet:
    return "first calls on a communicator";
  case Reason::type_or_operation:
    return "type or operation";
  case Reason::communicator:
    return "one rank, an intercommunicator or spawned ranks";
  case Reason::empty:
    return "no elements";
  case Reason::arguments:
    return "arguments that the MPI library rejects";
  case Reason::no_context:
    return "no context could be made";
  case Reason::outside:
    return "outside of MPI_Init and MPI_Finalize";
  }
  return "?";
}

void before_init() noexcept { state().starting.store(std::this_thread::get_id(), std::memory_order_release); }

void after_init(int code) noexcept {
  State& now = state();
  if (code == MPI_SUCCESS) start(now);
  now.starting.store(std::thread::id(), std::memory_order_release);
}

void before_finalize() noexcept {
  State& now = state();
  if (now.process && now.process->is_forked_copy()) return;
  if (now.handshake) now.handshake->take_back();
  if (!now.active.exchange(false)) return;
  now.last = {};
  if (now.process->options().statistics) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) log_line("statistics of rank 0\n" + statistics_table(statistics(now)));
  }
  now.recorder = nullptr;
  write_timeline(now);
  int ranks = 1;
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1 && !say_goodbye(now.world != MPI_COMM_NULL ? now.world : MPI_COMM_WORLD))
    now.world = MPI_COMM_NULL; // the MPI library's from now on
  {
    const std::lock_guard lock(now.mutex);
    for (auto& record : now.records)
      record->context.reset();
    now.released.clear();
  }
  stop_dumping();
  now.device = nullptr;
  now.process.reset();
  free_communicator(now);
}

} // namespace strata::mpi

extern "C" __attribute__((visibility("default"))) const strata_mpi_module*
strata_mpi_module_v3(const strata_mpi_native* native) {
  using namespace strata::mpi;
  static const strata_mpi_module module = {allreduce,  allreduce_c,     before_init,
                                           after_init, before_finalize, introspect};
  State& now = state();
  now.native = native;
  // Handles travel through the shim as pointers; see as_handle().
  now.native_allreduce = reinterpret_cast<NativeAllreduce>(reinterpret_cast<void (*)()>(native->allreduce));
  now.native_allreduce_c = reinterpret_cast<NativeAllreduceC>(reinterpret_cast<void (*)()>(native->allreduce_c));
  return &module;
}
