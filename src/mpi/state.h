// SPDX-License-Identifier: BSD-3-Clause
// The module's one place of global state: what it knows of this MPI process between MPI_Init and MPI_Finalize.
#pragma once

#include "comm/context.h"
#include "mpi/handles.h"
#include "mpi/handshake.h"
#include "mpi/shim/module_interface.h"

#include <mpi.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace strata::mpi {

/// The MPI library's all-reduce with its own types.
using NativeAllreduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

/// MPI_Allreduce_c; null in MPI libraries before MPI 4.0.
using NativeAllreduceC = int (*)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);

/// Why a call was handed to the MPI library.
enum class Reason : std::uint8_t {
  predicted,         ///< the choice for this size
  not_yet,           ///< fewer eligible calls on this communicator than STRATA_CONTEXT_CALLS
  type_or_operation, ///< derived or user-defined, or a pair that strata has no kernel for
  communicator,      ///< one rank, an intercommunicator, spawned ranks
  empty,             ///< zero or fewer elements
  arguments,         ///< something that this MPI library rejects
  no_context,        ///< the context could not be made
  outside,           ///< before MPI_Init or after MPI_Finalize
};
inline constexpr std::size_t reasons = 8;
const char* text_of(Reason reason);

/// What is attached to a communicator, under an attribute key of ours.
struct CommunicatorRecord {
  MPI_Comm communicator = MPI_COMM_NULL;
  bool eligible = false;
  bool between_groups = false;     ///< an intercommunicator, both of whose groups run strata
  bool failed = false;             ///< no context can be made
  std::uint64_t calls = 0;         ///< eligible ones until there is a context
  std::uint64_t checked_calls = 0; ///< with STRATA_CHECK
  /// Of eligible ones: what a context begins with, when memory may be short. Null: there was no memory for a record.
  std::shared_ptr<comm::AllOrNone> together;
  std::unique_ptr<comm::Context> context;
  std::mutex mutex; ///< taken under MPI_THREAD_MULTIPLE only
};

/// The last call's communicator, type and operation, already looked up: most programs repeat them. Those that are the
/// MPI library's have no context. (A handle that a program frees may be used again, but only for what is the MPI
/// library's as well; of communicators the deletion is noticed.)
struct LastCall {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
  comm::Context* context = nullptr;
  Items items;
  type::Operation reduction{};
  Reason reason = Reason::type_or_operation; ///< without a context: why
};

/// See rejects_buffers().
struct Rejections {
  bool equal_buffers_of_one = false; ///< of one element
  bool equal_buffers = false;        ///< of more
};

struct State {
  const strata_mpi_native* native = nullptr;
  NativeAllreduce native_allreduce = nullptr;
  NativeAllreduceC native_allreduce_c = nullptr;
  std::atomic<bool> active{false};
  /// The thread between before_init() and the end of after_init(): see wait_for_the_start().
  std::atomic<std::thread::id> starting{};
  bool several_threads = false;
  bool check = false;                  ///< compare the ranks' arguments first
  trace::Recorder* recorder = nullptr; ///< the process'; null unless the job is traced
  LastCall last;
  Handles handles;
  std::once_flag rejections_known;
  Rejections rejections;
  /// Private duplicate, for the transport over MPI; null where that is not needed (Handshake::needs_communicator()).
  MPI_Comm world = MPI_COMM_NULL;
  int key = MPI_KEYVAL_INVALID;
  /// See let_mpi_progress(); at first the highest that every MPI library has (MPI 4.0, 9.1.2).
  std::atomic<int> unused_tag{32767};
  int probed_rank = 0; ///< of MPI_COMM_WORLD, by let_mpi_progress(): not this one, which MPICH would look for elsewhere
  std::vector<std::string> complaints;
  std::unique_ptr<Handshake> handshake; ///< outlives MPI_Finalize
  std::unique_ptr<comm::Process> process;
  comm::Device* device = nullptr;                   ///< of the process; null: every buffer is in host memory
  DeviceNative device_native = DeviceNative::stage; ///< not automatic: decided
  std::atomic<const Activity*> dumped{nullptr};     ///< for the handler of STRATA_DUMP_SIGNAL
  std::vector<std::byte> room_to_decline;           ///< for what all ranks say; nobody reads what exchanges leave there
  std::mutex mutex;                                 ///< guards what follows
  std::list<std::shared_ptr<CommunicatorRecord>> records;
  std::list<std::shared_ptr<CommunicatorRecord>> released; ///< their communicators are gone
  std::array<std::atomic<std::uint64_t>, reasons> native_calls{};
};

/// Lives until the process ends: calls may come after MPI_Finalize.
State& state();

/// A communicator's record during a call: the one attached to it, made when first asked for. Where a rank has no memory
/// for one, a stand-in whose few values are kept in the attribute itself. The other ranks may have a record, and will
/// wait for this rank when they make a context: it counts calls as they do, takes part, and says that it cannot.
class CalledCommunicator {
public:
  CalledCommunicator(State& state, MPI_Comm communicator);
  CalledCommunicator(const CalledCommunicator&) = delete;
  CalledCommunicator& operator=(const CalledCommunicator&) = delete;
  ~CalledCommunicator();
  /// Null for MPI_COMM_NULL, and for what the MPI library does not know.
  CommunicatorRecord* record() { return record_; }

private:
  State& now_;
  CommunicatorRecord* record_ = nullptr;
  std::optional<CommunicatorRecord> stand_in_;
  void* attached_ = nullptr; ///< the stand-in's values before the call
};

/// State::world; collective.
void duplicate_world(State& state);

/// Makes the record's context; collective. False, on all ranks alike, when there is none to be had.
bool make_context(State& state, CommunicatorRecord& record);

// What a program calls. An exception of strata's own (there is no memory at MPI_Init, or for what STRATA_CHECK
// compares) ends the process: where ranks work together, one that went on alone would keep the others waiting for ever.
// What a handler of the program throws passes through.
void before_init() noexcept;
void after_init(int code) noexcept;
void before_finalize() noexcept;
int allreduce(const void* send, void* receive, int count, strata_mpi_handle datatype, strata_mpi_handle operation,
              strata_mpi_handle communicator);
int allreduce_c(const void* send, void* receive, std::int64_t count, strata_mpi_handle datatype,
                strata_mpi_handle operation, strata_mpi_handle communicator);
const void* introspect() noexcept;
/// The statistics of the whole process so far.
comm::Statistics statistics(State& state);
std::string statistics_table(const comm::Statistics& statistics);

/// A handle as it went through the shim.
template <typename Handle>
Handle as_handle(strata_mpi_handle raw) {
  if constexpr (std::is_pointer_v<Handle>)
    return static_cast<Handle>(raw);
  else
    return static_cast<Handle>(reinterpret_cast<std::uintptr_t>(raw));
}

} // namespace strata::mpi
