// SPDX-License-Identifier: BSD-3-Clause
// What strata asks of accelerators, and all that it sees of them. CUDA stands behind this interface, and so does the
// emulated device that tests use on machines without one.
//
//   Driver   one per process: memory (what kind is a pointer, device and pinned memory), handles for other processes
//   Stream   a queue on one device: copies, reductions, events; what is put into it runs later, in order
//   Event    a mark in a stream: has all before it run?
//
// A call with a device buffer, staged through the host, then is
//
//   driver.memory_of(send)                       once per buffer and call
//   stream.copy(bounce, send, bytes)             enqueued: nothing has moved yet
//   stream.record(event); event.reached()        asked until true: now the host may read `bounce`
//
// Nothing waits but what is called synchronise. Everything that a stream was given must stay as it is until an event
// behind it has been reached or the stream was synchronised: the memory, not the arguments, which are copied.
//
// A driver is a module of its own (CUDA: strata/cuda.so). Its one symbol is `strata_device_v1`, a DriverEntry. It must
// not initialise the accelerator before the program has: initialised() only looks, and nothing else is called before
// that is true; only a tool that is itself the program calls initialise(). It leaves the program's current context as
// it found it, uses streams of its own that do not wait for the program's default stream, and never prints. Errors name
// what was asked for and the driver's own reason.
//
// Threads: a Driver may be used by several at once; a Stream or an Event by one at a time.
#pragma once

#include "base/memory_kind.h"
#include "base/options.h"
#include "base/result.h"
#include "type/type.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace strata::device {

/// Whose memory it is. The host may read and write all but `device`.
enum class Kind : std::uint8_t {
  host,    ///< nothing that the driver knows
  pinned,  ///< of the host, known to the driver: copies need no stop-over
  managed, ///< moves between host and device by itself
  device,
};

/// The allocation around a pointer.
struct Memory {
  Kind kind = Kind::host;
  std::int32_t device = -1;  ///< where the memory is, or was made; -1 for the host's
  std::uint64_t buffer = 0;  ///< id of the allocation, never given twice in a process: an address may be, after a free
  std::byte* base = nullptr; ///< where the allocation begins; null for Kind::host, whose extent nobody knows
  std::size_t bytes = 0;     ///< of the whole allocation
  bool exportable = false;   ///< whether export_memory() can work (not for memory from pools or virtual mappings)
  bool reached_by_all = false; ///< of device memory: whether streams of every device copy it (likewise not for these)
};

/// Whatever joins more than two devices by direct links, for Driver::linked_to().
inline constexpr const char* switch_of_links = "switch";

struct Facts {
  std::string name;        ///< "NVIDIA H100 80GB HBM3"
  std::string pci_address; ///< "0000:3b:00.0"
  std::size_t bytes = 0;   ///< of its memory
  std::int32_t numa = -1;  ///< the host's NUMA node that it is nearest to; -1: not known
};

class Event {
public:
  virtual ~Event() = default;
  /// Whether all that was before it in its stream has run. Never waits. An event that was never recorded is reached.
  virtual Result<bool> reached() = 0;
};

class Stream {
public:
  /// Waits for nothing: what was enqueued still runs.
  virtual ~Stream() = default;

  /// Enqueues a copy between memory of any kinds, devices and peers' mappings included; of other devices, only what all
  /// reach (Memory::reached_by_all). Ranges must not overlap, and each must lie within one allocation.
  virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;

  /// Enqueues to[i] = ((from[0][i] op from[1][i]) op from[2][i]) … for `count` elements, with the bits that
  /// kernel::ReduceFunction gives. `from` has 1 to most_inputs pointers to device memory, own or mapped, aligned to the
  /// element; `to` may be exactly one of them, and must not overlap one otherwise.
  static constexpr std::size_t most_inputs = 16;
  virtual Status reduce(type::Element element, type::Operation operation, void* to, std::span<const void* const> from,
                        std::size_t count) = 0;

  /// Puts the event here, whatever it marked before.
  virtual Status record(Event& event) = 0;
  /// What is enqueued from now on runs after the event's present place, which may be in another stream of this process.
  virtual Status wait_for(Event& event) = 0;
  /// Enqueues that `*word` becomes `value` once all that was enqueued before has run, for a host that looks at it or a
  /// stream that waits for it.
  /// Words are in memory that allocate_pinned() or allocate() gave, here or to a peer that it was opened from. Errors:
  /// unsupported, where streams of this device cannot do that.
  virtual Status set_word(std::uint32_t* word, std::uint32_t value) = 0;
  /// What is enqueued from now on runs after somebody has set `*word` to `value` or to one of the 2^31 - 1 behind it.
  /// Errors as set_word().
  virtual Status wait_for_word(const std::uint32_t* word, std::uint32_t value) = 0;
  /// Waits until all that was enqueued has run.
  virtual Status synchronise() = 0;
};

class Driver {
public:
  virtual ~Driver() = default;
  virtual const char* name() const = 0; ///< "cuda", "emulated"

  /// Whether the program itself uses the accelerator by now. Once true it stays true. Asked in every call until then,
  /// so it must cost little.
  virtual bool initialised() = 0;
  /// Loads and initialises the accelerator if nobody has. Not for a library in somebody's program.
  virtual Status initialise() = 0;
  /// Why memory_of() takes all memory for the host's, though the program uses the accelerator by now: this driver
  /// cannot work with it. Empty: there is no such reason, yet.
  virtual std::string why_blind() = 0;

  /// What is at `pointer`; Kind::host for everything that the driver does not know, with an error only if the device
  /// is lost.
  virtual Result<Memory> memory_of(const void* pointer) = 0;

  virtual std::int32_t devices() = 0;
  virtual Result<Facts> facts(std::int32_t device) = 0;
  /// How many direct links (NVLinks) of the device are up; -1: not known. Takes milliseconds: for tools.
  virtual std::int32_t links(std::int32_t device) = 0;
  /// What is at the far ends of its direct links that are up, each once, sorted: PCI addresses of devices, or
  /// switch_of_links. Empty where nothing is known of them. Takes milliseconds: once in a process.
  virtual std::vector<std::string> linked_to(std::int32_t device) = 0;

  /// Device memory of strata's own, aligned to 256 bytes at least, exportable.
  virtual Result<void*> allocate(std::int32_t device, std::size_t bytes) = 0;
  /// Frees what allocate() gave. Waits for no stream: the caller has.
  virtual Status free(void* memory) = 0;
  /// Memory that moves between the host and `device` by itself; for tools, strata itself uses none.
  virtual Result<void*> allocate_managed(std::int32_t device, std::size_t bytes) = 0;
  virtual Status free_managed(void* memory) = 0;
  /// Host memory that every device copies from and to without a stop-over, aligned to a page.
  virtual Result<void*> allocate_pinned(std::size_t bytes) = 0;
  virtual Status free_pinned(void* memory) = 0;

  /// Device memory as the libraries that talk to network devices know it, for messages that do not pass through the
  /// host (GPUDirect RDMA): what it is to them, and where they find what is at `memory`. They may touch it while no
  /// work in a stream does. Null: they cannot reach it.
  virtual MemoryKind kind_for_networks() const = 0;
  virtual void* address_for_networks(void* memory) = 0;

  virtual Result<std::unique_ptr<Stream>> make_stream(std::int32_t device) = 0;
  /// A stream of the program (CUDA: a cudaStream_t, null for the default one), to put work into it as the program does;
  /// it stays the program's. Errors: unsupported, while it is captured into a graph; another, if it is none, or there
  /// is no current context to have a default one.
  virtual Result<std::unique_ptr<Stream>> adopt_stream(void* stream) = 0;
  virtual Result<std::unique_ptr<Event>> make_event(std::int32_t device) = 0;
  /// Does now what Stream::reduce() would do at its first call on the device with `memory`, and what may wait for all
  /// work of the device; for a call that is to run while a stream waits for it.
  virtual Status prepare_reduction(std::int32_t device, const void* memory, type::Element element,
                                   type::Operation operation) = 0;
  /// An error once the device of `memory`, or what was put into its streams, has failed. Never waits.
  virtual Status check(const void* memory) = 0;
  /// From the first hold to the last release, free() and free_pinned() only note what they are given, and
  /// close_exported() does nothing: a driver waits there for all work of a device, and a stream may be waiting for the
  /// caller.
  virtual void hold_frees() = 0;
  virtual void release_frees() = 0;
  /// What this thread asks for is never part of what other threads capture into graphs, and does not break it.
  virtual void leave_captures_alone() = 0;
  /// This thread is strata's own and works with the device from now on, in the way that libraries below the transports
  /// expect of a program's thread (CUDA: a current context).
  virtual void enter_thread(std::int32_t device) = 0;
  /// Waits for all streams of the device, the program's too.
  virtual Status synchronise(std::int32_t device) = 0;

  /// Bytes by which another process of this machine can map the allocation that `memory` is the begin of.
  virtual Result<std::string> export_memory(void* memory) = 0;
  /// Maps what another process exported, for use by `device`: a pointer to its begin. The same text opened twice gives
  /// the same pointer, to be closed as often. Errors: argument (not a handle of this driver), unsupported (denied, or
  /// the exporter is this process or not of this machine, or what was freed there since is still open here).
  virtual Result<void*> open_exported(const std::string& exported, std::int32_t device) = 0;
  /// False: not while frees are held; it is as open as before. Who exported it must not free it before it is closed.
  virtual Result<bool> close_exported(void* memory) = 0;

  /// Whether `device` could read and write the memory of `peer` without the host. Changes nothing.
  virtual Result<bool> reaches(std::int32_t device, std::int32_t peer) = 0;
  /// Lets `device` read and write the memory of `peer`, and says so again at no price. An error of kind unsupported
  /// when they cannot.
  virtual Status enable_peer_access(std::int32_t device, std::int32_t peer) = 0;
};

/// A module's symbol `strata_device_v1`. `faults` is what follows the driver's name in STRATA_DEVICE; CUDA takes none.
/// Null when there can be no such device in this process, with the reason in `why_not`.
using DriverEntry = Driver* (*)(const Options* options, const std::string* faults, std::string* why_not);

} // namespace strata::device
