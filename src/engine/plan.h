// SPDX-License-Identifier: BSD-3-Clause
// A Plan: one rank's program bound to channels, ready to run slice after slice; and the Requests that run on it.
#pragma once

#include "base/result.h"
#include "engine/device_queue.h"
#include "engine/scratch.h"
#include "engine/slice_memory.h"
#include "engine/wait.h"
#include "kernel/kernel.h"
#include "sched/schedule.h"
#include "trace/recorder.h"
#include "transport/transport.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace strata::engine {

/// Payloads below this size go to shared memory through the caches, whatever the request says: a fence costs more.
inline constexpr std::size_t least_streamed = std::size_t{4} << 10;

/// One running operation: the user's buffers, and how far it has come. The caller keeps it until complete().
struct Request {
  const std::byte* input = nullptr;
  std::byte* output = nullptr; ///< may be `input`
  std::int64_t elements = 0;
  kernel::Reducer reducer{};
  kernel::Stores stores{};
  std::uint64_t call = 0;        ///< for timelines
  SliceMemory* memory = nullptr; ///< null: the steps work on `input` and `output` themselves
  type::Element element{};       ///< as in the reducer, for a device
  type::Operation operation{};   ///< likewise

  bool complete() const { return finished_slices == slices; }

  // Kept by the Plan.
  bool on_device = false; ///< as the memory says
  std::int64_t slices = 0;
  std::int64_t slice_elements = 0;
  std::int64_t started_slices = 0;
  std::int64_t finished_slices = 0;
};

/// How a schedule is to be run.
struct PlanShape {
  std::uint32_t number = 0;            ///< in its context, the same on all ranks
  std::size_t slice_bytes = 0;         ///< at most
  std::uint32_t window = 1;            ///< slices in flight
  ScratchBudget* scratch = nullptr;    ///< of the process; null: no bound
  trace::Recorder* recorder = nullptr; ///< of the process; null: nothing is recorded
};

/// Which transport carries messages to a rank: an index into the plan's Links.
struct Route {
  std::span<transport::Links* const> links; ///< all that the context has
  std::vector<std::uint8_t> by_rank;        ///< index into `links`
};

class Plan {
public:
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// First step of the set-up: takes all memory, sends nothing. `copy` is the kernels'.
  static Result<std::unique_ptr<Plan>> prepare(const sched::Program& program, const PlanShape& shape,
                                               const Route& route, kernel::CopyFunction copy);

  /// What each channel must tell its peers, one number per Links of the route (0 where there is no channel).
  std::vector<std::uint64_t> announcements() const;
  /// Second step: `announced[link][rank]`.
  Status connect(const std::vector<std::vector<std::uint64_t>>& announced);

  /// Calls of up to so many bytes are coming: for speed alone, and local. After connect(); again for longer ones.
  void make_ready(std::size_t call_bytes);

  // plan_device.cc: between connect() and the first request, on ranks that have a device.
  /// What the device must have for this plan. `networks`: what its memory is to the transports; none: they shall not
  /// use it.
  DeviceNeeds device_needs(std::optional<MemoryKind> networks) const;
  /// The ranks whose slots this rank would read; and those whose flags it would set, if `sets_flags`.
  std::vector<std::int32_t> device_peers(bool sets_flags) const;
  /// `peers`: by rank, where its slots are mapped here, or null. The queue must outlive the plan's last request.
  Status connect_device(DeviceQueue& queue, const std::vector<std::byte*>& peers, std::optional<MemoryKind> networks);
  /// Between connect_device() and let_read(), to try flags: puts into the queue that those for slice 0 are set, of all
  /// messages to ranks that are mapped here and among the `waiters`. False: the device has failed.
  bool set_tried_flags(const std::vector<bool>& waiters) const;
  /// After all ranks have done so: puts into the queue that those are waited for that the `senders` have set, and mark
  /// 0. Likewise.
  bool await_tried_flags(const std::vector<bool>& senders) const;
  /// `readers`: by rank, whether it has mapped the slots of this rank. All ranks have agreed on it. `waiters`: whether
  /// its queue may wait for flags of this rank's.
  void let_read(const std::vector<bool>& readers, const std::vector<bool>& waiters);
  void disconnect_device();
  /// Whether some message of this plan need not pass through the host: between devices, or to or from another node.
  bool uses_device() const;
  /// Whether devices of peers wait for flags of this rank's.
  bool sets_flags() const;
  /// Host memory that a slice in device memory needs for its messages to other nodes.
  std::size_t bounce_bytes() const;

  /// Third step: whether all peers have been heard of; makes progress. Call it until it is true, failure() is not null
  /// or patience ends.
  bool connected();
  /// When patience for that has ended.
  void give_up_connecting();
  /// Why a channel cannot go on, or null.
  const char* failure() const;

  /// Adds a request; requests run in the order of their submission, overlapping at slices.
  /// All ranks submit the same sequence.
  void submit(Request& request);

  /// Runs what can run now. True if anything moved.
  bool advance();
  /// The same in a traced job: records each step that it runs, and the time when there was none to run. (Not a question
  /// per step: the callers know from the beginning which of the two they want.)
  bool advance_recorded();
  const PlanShape& shape() const { return shape_; }
  bool busy() const { return !requests_.empty(); }

  /// Progress until everything sent has left this process; true when it has.
  bool flushed();

  /// The ranks that the oldest slice in flight still waits for, ascending, and in `step` what it would do with what
  /// they send; none when it waits for room only.
  std::vector<std::int32_t> awaited(std::string& step) const;
  /// Forgets its requests, which the caller gives up because a peer is gone; their buffers are not read any more when
  /// this returns, after a few seconds at most. Only depart() may follow.
  void abandon();

  void depart();
  bool quiescent();

  /// What went over a transport, by index of the route's links.
  transport::Traffic traffic(std::size_t link) const;
  /// What this rank sent for a level of the hierarchy; counted once per receiver.
  transport::Traffic level_traffic(std::size_t level) const { return level_traffic_[level]; }
  static constexpr std::size_t most_levels = 16;

private:
  struct Port { ///< where a message goes in or comes out
    transport::Channel* channel;
    std::uint32_t index;
    bool shares_memory = false;
    std::int32_t peer = -1; ///< of an incoming message
  };
  struct Source {
    sched::Place place;
    Port port{nullptr, 0, false}; ///< no channel: local
  };
  struct BoundStep {
    sched::Kind kind;
    sched::Place place;
    sched::Range range;
    std::uint8_t level = 0;
    std::uint32_t receivers = 0; ///< of a send
    bool final_write = false;    ///< nothing later in the program reads what it writes
    std::uint32_t dependencies = 0;
    std::vector<std::uint32_t> successors;
    std::vector<Source> sources; ///< recv, reduce, copy
    std::vector<Port> ports;     ///< send
  };
  /// The part of a slice of a certain length that each step works on, in elements.
  struct Geometry {
    std::int64_t elements = -1;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;           ///< by step: begin, end
    std::array<std::pair<std::int64_t, std::int64_t>, 16> sent_by_level; ///< messages, elements
  };
  /// How far a slice is: one without SliceMemory is running from its start until it has finished.
  enum class Stage : std::uint8_t { fetching, running, delivering, finished };
  /// One slice in flight.
  struct Slice {
    std::uint64_t number = 0; ///< over the plan's life
    std::int64_t place = 0;   ///< in its request
    Request* request = nullptr;
    SliceMemory::Room room; ///< of its first element
    Stage stage = Stage::finished;
    const Geometry* geometry = nullptr;
    std::uint32_t open_steps = 0;
    std::vector<std::uint32_t> waiting_for; ///< by step: dependencies not yet complete
    std::vector<std::uint32_t> reached;     ///< by step: operands that have arrived, or ports that were started
    std::vector<std::uint32_t> active;      ///< steps whose dependencies are complete
  };
  bool start(const Port& port, const Slice& slice, const void* payload, std::size_t bytes) const;

  Plan();
  void bind_steps(const sched::Program& program, const Route& route);
  Status make_channels(const Route& route);
  const Geometry* geometry(std::int64_t elements);
  void measure(Geometry& geometry, std::int64_t elements) const;
  bool start_slice(Request& request);
  bool start_slices();
  enum class Steps : bool { unrecorded, recorded };
  template <Steps steps>
  bool advance_as();
  template <Steps steps>
  bool advance_stage(Slice& slice);
  template <Steps steps>
  bool run_steps(Slice& slice);
  bool attempt(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool attempt_recorded(const BoundStep& step, std::uint32_t index, Slice& slice);
  void record_wait(std::int64_t end, std::uint64_t call);
  static const void* payload(const Port& port, const Slice& slice, std::size_t bytes);
  bool attempt_send(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool attempt_recv(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool attempt_reduce(const BoundStep& step, std::uint32_t index, Slice& slice);
  std::byte* address(sched::Place place, const Slice& slice, std::int64_t element) const;
  void retire();
  std::size_t most_bytes(sched::Range range) const;
  void run_reducer(const BoundStep& step, std::uint32_t index, Slice& slice);

  // plan_device.cc, plan_device_steps.cc
  struct DeviceSide;
  enum class DevicePhase : std::uint8_t;
  enum class DeviceOrder : std::uint8_t;
  static std::size_t least_straight(const Port& port, std::optional<MemoryKind> networks);
  static bool lands(const Port& port, std::size_t bytes, std::optional<MemoryKind> networks);
  bool attempt_beside_device(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool attempt_on_device(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool attempt_send_on_device(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool put_payload(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool post_bounced(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool start_straight(const Port& port, const Slice& slice, std::byte* payload, std::size_t bytes) const;
  DeviceQueue::Operand device_operand(std::uint32_t index, std::size_t number, const Slice& slice);
  std::byte* device_address(sched::Place place, const Slice& slice, std::int64_t element) const;
  bool attempt_with_fetched(const BoundStep& step, std::uint32_t index, Slice& slice);
  std::byte* fetched_room(const BoundStep& step, std::uint32_t index, std::size_t source, const Slice& slice) const;
  bool fetch(const BoundStep& step, std::uint32_t index, const Slice& slice);
  bool use_fetched(const BoundStep& step, std::uint32_t index, Slice& slice);
  bool has_arrived(const Source& source, const Slice& slice, std::size_t bytes) const;
  bool all_arrived(const BoundStep& step, std::uint32_t index, Slice& slice) const;
  void begin_beside_device(const Slice& slice);
  bool queue_step(std::uint32_t index, const Slice& slice, DevicePhase phase, DeviceOrder by);
  static bool is_promised(const Source& source, const Slice& slice);
  std::byte* flags_of(std::size_t step, std::int32_t reader) const;
  bool set_flags(std::uint32_t index, const Slice& slice) const;
  bool await_promise(std::uint32_t index, std::size_t source, const Slice& slice) const;
  bool settle_device();
  bool is_given_up();
  void settle(Slice& slice, std::uint32_t index);

  PlanShape shape_;
  kernel::CopyFunction copy_ = nullptr;
  std::vector<BoundStep> steps_;
  std::vector<transport::ChannelShape> channel_shapes_;       ///< by link, until the channels are made
  std::vector<std::unique_ptr<transport::Channel>> channels_; ///< by link; null where none is needed
  std::vector<std::vector<std::int32_t>> readers_;            ///< by step: who takes what it sends from shared memory
  std::vector<std::uint32_t> roots_;                          ///< steps without dependencies
  std::vector<Slice> slices_;                                 ///< ring, slice n in n mod window
  std::uint64_t next_slice_ = 0;
  std::uint64_t oldest_slice_ = 0; ///< first that has not been retired
  std::vector<Request*> requests_; ///< in order; the first may have retired slices
  Geometry geometries_[3];
  std::size_t next_geometry_ = 0;
  Scratch scratch_;
  std::size_t scratch_region_bytes_ = 0;
  std::uint16_t scratch_regions_ = 0;
  std::vector<const void*> operands_;
  std::unique_ptr<DeviceSide> device_; ///< null: every payload is in host memory
  std::array<transport::Traffic, most_levels> level_traffic_{};
  std::uint32_t first_step_name_ = 0; ///< the recorder's
  bool step_was_recorded_ = false;    ///< since advance_recorded() was called
  std::int64_t idle_since_ = 0;       ///< nanoseconds, in a traced job; 0: a step ran last
};

} // namespace strata::engine
