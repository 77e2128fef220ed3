// SPDX-License-Identifier: BSD-3-Clause
// A Context: what is known of one communicator - its peers, hierarchy, options agreed on, plans - and how it runs
// Calls.
#pragma once

#include "comm/all_or_none.h"
#include "comm/device_use.h"
#include "comm/peer_slots.h"
#include "comm/process.h"
#include "comm/resident.h"
#include "comm/staging.h"
#include "comm/watch.h"
#include "engine/core_contention.h"
#include "engine/plan.h"
#include "topo/link_pairs.h"
#include "transport/shm/parity_board.h"
#include "tune/board.h"
#include "tune/choice.h"
#include "tune/look.h"
#include "tune/probe.h"
#include "tune/profile.h"
#include "tune/table.h"
#include "tune/trial.h"

#include <array>
#include <chrono>
#include <memory>
#include <optional>

namespace strata::comm {

class Courier;
class VectorInParts;
struct CourierWay;

/// One checked request for an all-reduce.
struct Call {
  const void* input = nullptr; ///< may equal output (in place); memory of the host or of a device
  void* output = nullptr;      ///< likewise, of the same kind or another
  std::int64_t elements = 0;
  type::Element element{};
  type::Operation operation{};
  const CallBuffers* looked = nullptr; ///< what is known of the buffers already; null: they were not looked at
};

/// What became of a call; all ranks get the same answer.
enum class Outcome : std::uint8_t {
  done,
  native,          ///< Nothing was sent: the MPI library is to do it.
  native_on_trial, ///< As native; and when it has done it, native_done() is to be called.
  peer_lost,       ///< A peer, or a device, is gone in this call or an earlier one: see Context::trouble().
};

class Context final : private Waiting {
public:
  /// Collective over the bootstrap's ranks; all get a context, or all get an error. Keeps the bootstrap.
  static Result<std::unique_ptr<Context>> create(Process& process, std::shared_ptr<AllOrNone> bootstrap);
  /// The same; but a rank that has no memory for what the other form begins with throws, alone.
  static Result<std::unique_ptr<Context>> create(Process& process, std::unique_ptr<Bootstrap> bootstrap) {
    return create(process, std::make_shared<AllOrNone>(std::move(bootstrap)));
  }
  /// Leaves what peers may still read to the process (see Process::settle_departed).
  ~Context() override;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Runs the call to its end, or says that it is native's. All ranks call it in the same order with the same number
  /// of elements, kind of element and operation. One thread at a time.
  Outcome all_reduce(const Call& call) {
    ++calls_;
    if (call.elements == 0) [[unlikely]]
      return Outcome::done; // nothing to move, and the buffers may be null
    const std::size_t bytes = static_cast<std::size_t>(call.elements) * type::bytes_of(call.element);
    if (calls_ >= next_look_) [[unlikely]]
      look_again(call, bytes);
    Decision& decision = decisions_[tune::size_class(bytes)];
    if (decision.way.path == Path::board) [[likely]]
      return run_on_board(call, decision.way, bytes);
    return all_reduce_elsewhere(call, decision, bytes);
  }
  /// After Outcome::native_on_trial, when the MPI library has done that call. Collective.
  void native_done(const Call& call);
  /// After Outcome::peer_lost: who is gone, in one sentence.
  const std::string& trouble() const { return watch_.trouble(); }
  /// After Outcome::native: why every call is native's from now on; null: it is for this size only.
  const Error* why_all_native() const { return left_to_native_ ? &*left_to_native_ : nullptr; }

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return ranks_; }
  std::int32_t nodes() const { return situation_.job.nodes; }
  const topo::Hierarchy& hierarchy() const { return situation_.job.hierarchy; }
  const Options& options() const { return options_; }
  /// What choices depend on.
  const tune::Situation& situation() const { return situation_; }

  /// Whether calls may come from a thread of strata's own, while the program's threads do what they like.
  bool takes_any_thread() const { return bootstrap_->takes_any_thread(); }

  /// For strata-info and the log: which transport reaches each rank ("self" for this one), and host names.
  const std::vector<std::string>& transport_by_rank() const { return transport_names_; }
  const std::vector<std::string>& hosts() const { return hosts_; }
  /// Lines for the user in any case: options that differ between ranks or cannot be followed here.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Lines for a user who asked: transports that were skipped, and why.
  const std::vector<std::string>& notes() const { return notes_; }

  /// The choice for a size by the cost model, or by a table; makes no plan.
  tune::Choice choice_for(std::size_t bytes) const;
  /// On rank 0, writes the warnings, each once in a process, and the notes if they were asked for.
  void tell() const;
  /// What does calls of this size now, in the words of strata-table(5); empty: nothing was decided, or it is on trial.
  std::string way_text(std::size_t bytes) const;
  /// Whether calls of this size still try one way after the other.
  bool on_trial(std::size_t bytes) const { return decisions_[tune::size_class(bytes)].trial != nullptr; }

  /// What this machine and this job are to a table of ways (strata-table(5)).
  std::string machine_text() const;
  /// Does calls of this size class in this way from now on, and tries no other; for tools. The words are those of a
  /// table. Collective; all ranks get the same answer.
  Status use_way(std::size_t bytes, const std::string& words);
  /// As the option of this name, for trials that begin from now on; for tools. The same on all ranks.
  Status set_trial(std::uint64_t percent);

  /// Measures the links between the nodes, and what memory and messages take, now and to the end. Collective.
  Status measure_links();
  /// On rank 0, a profile of what is known of these links, measured or found; else none.
  const KnownProfile& links() const { return links_known_; }
  /// On rank 0, what this context has measured of each pair of nodes, last; else null.
  const topo::LinkMatrix* matrix() const { return matrix_ ? &*matrix_ : nullptr; }
  /// By node, the host of its first rank.
  std::vector<std::string> host_of_node() const;
  /// By rank, the switch that its node is at by the scheduler's word; empty: it says nothing.
  const std::vector<std::string>& switches() const { return switches_; }

  Statistics statistics() const;

private:
  enum class Path : std::uint8_t {
    undecided,
    native,
    board,
    board_in_review, ///< the next calls of which are timed
    plan,
    lost
  };
  static bool is_on_board(Path path) { return path == Path::board || path == Path::board_in_review; }
  /// One way to do the calls of a size class, ready to run.
  struct Way {
    Path path = Path::undecided;
    engine::Plan* plan = nullptr;
    PeerSlots* slots = nullptr; ///< the plan's, where it has some
    kernel::Stores stores;
    bool long_slices = false; ///< as devices like them
    std::string name;
    tune::Way in_table; ///< as strata-table(5) has it, but for the stores
    Tally tally;
    std::uint64_t bytes_in_parts = 0;  ///< of those in the tally: each rank reduced a part (context_parts.cc)
    std::uint64_t look_at = 0;         ///< of Path::board: the count of calls with which it is in review; 0: never
    double seconds = 0;                ///< of a call, as all ranks agreed; 0: not measured, and pays for no probe
    bool is_timed_to_the_last = false; ///< that is until the last rank had left it
    double predicted = 0;              ///< the same by the cost model
    std::uint32_t predicted_after = 0; ///< so many adoptions of what is known of the links
  };
  /// The ways between which the first calls of a size class decide.
  struct Probation {
    tune::Trial trial;
    std::vector<Way> ways;
    std::chrono::steady_clock::time_point started; ///< the call that is running
  };
  /// Looks now and then, after a trial and in its rests, whether the way that is ahead still takes the time that it
  /// took, and after a trial whether a rival takes less by now.
  struct Review {
    enum class Change : std::uint8_t { none, longer, shorter, rival_is_faster };
    explicit Review(const tune::Look& first) : look(first) {}
    std::uint64_t calls_before = 0;                ///< until the next look
    tune::Look look;                               ///< the next one, or that which is under way
    std::uint32_t alarms = 0;                      ///< looks in a row that saw the same change
    Change seen = Change::none;                    ///< the last of them
    bool is_timing = false;                        ///< the call that is running
    std::chrono::steady_clock::time_point started; ///< the call that is running
    /// Of the others, that which the look is at; none: the way itself. Reset before the others change.
    std::optional<std::size_t> rival;
    std::size_t last_rival = 0;
    std::uint32_t looks_since_rival = 0; ///< at the way itself
    std::uint64_t calls_since_rival = 0;
    double seconds_since_rival = 0; ///< of a call, by the fastest of these looks
  };
  /// What was decided for a size class.
  struct Decision {
    Way way; ///< undecided while there is a trial
    std::unique_ptr<Probation> trial;
    std::vector<Way> others;  ///< that were tried
    std::vector<Way> retired; ///< that are not tried again; for their counts
    std::unique_ptr<Review> review;
    std::uint32_t reviewed = 0; ///< how often a review had all ways tried anew
    std::uint8_t trials = 0;    ///< that have ended, most_trials at most
  };
  struct MadePlan {
    std::string name;              ///< of the candidate; equal ones over the same levels share a plan
    std::size_t levels = 0;        ///< its place in planned_levels_
    std::int32_t device_users = 0; ///< DeviceUsers::anywhere, when it was made
    std::unique_ptr<engine::Plan> plan;
    std::unique_ptr<PeerSlots> slots; ///< null: this rank's payloads are all in host memory
    bool left = false;                ///< its peers have heard that this rank is through with it
    bool leave();
  };

  class LeftPlans;

  Context(Process& process, std::shared_ptr<AllOrNone> bootstrap);
  // context_setup.cc: steps of create(), each collective
  static Error own_words(Error error, std::string own) noexcept;
  Status set_up();
  Status agree_on_options(const std::vector<std::string>& texts);
  Status link_between_nodes(const std::vector<bool>& here);
  Status try_between_nodes(const std::string& name, const std::vector<bool>& there, bool* all_have_it);
  Status settle_hierarchy();
  bool wants(const std::string& transport) const;
  Status share_cards();
  Status share_profile();

  // context_neighbours.cc: likewise
  class MappedPairs;
  Status find_neighbours();
  Result<MappedPairs> map_neighbours(transport::shm::ShmTransport* memory, std::string& shortage);
  std::vector<std::vector<std::size_t>> socket_spaces() const;
  Status ask_for_segments(transport::shm::ShmTransport* memory, const MappedPairs& pairs,
                          const std::vector<std::vector<std::size_t>>& spaces, std::string& shortage);
  Status check_room(const MappedPairs& pairs, const std::string& shortage) const;
  void form_nodes(const MappedPairs& pairs);
  void count_cores();
  void put_aside();
  void leave_to_parent();
  Status link_neighbours(transport::shm::ShmTransport* memory, const std::vector<bool>& here);

  // context_table.cc
  tune::MachineShape machine_shape() const;
  bool may_use_table() const;
  Status share_table();
  void keep_fitting_table();
  bool follows_table() const;
  void apply_table(tune::Choice& choice, std::size_t bytes) const;

  // context_plan.cc
  void choose_way(Decision& decision, const Call& call, std::size_t bytes);
  void decide(Decision& decision, std::size_t bytes);
  std::string name_of(const tune::Candidate& candidate) const;
  Result<Way> prepare_way(const tune::Candidate& candidate, std::size_t bytes);
  static kernel::Stores default_stores(std::size_t bytes);
  static kernel::Stores stores_of(tune::Around around);
  Status prepare_board();
  Status make_board();
  std::size_t number_of(const std::vector<topo::Level>& levels);
  Result<const MadePlan*> make_plan(const tune::Candidate& candidate);
  Result<const MadePlan*> make_new_plan(const tune::Candidate& candidate, std::size_t levels);
  Result<std::unique_ptr<engine::Plan>> prepare_plan(const tune::Candidate& candidate);
  Status reach_peers(engine::Plan& plan, Status connected);
  Status hear_of_peers(engine::Plan& plan);
  bool keeps_to_near_cards() const;
  std::int32_t users_of_slots() const;
  bool all_agree(bool mine);
  void log_choice(const tune::Choice& choice, std::size_t bytes, const std::string& trouble);
  void leave_all_to_native(Error why);

  /// For waits in which ranks of other nodes take part: such nodes may be containers that share their cores, which
  /// crowding_ does not count.
  engine::CoreContention* contention_between_nodes() { return situation_.job.nodes > 1 ? &contention_ : nullptr; }

  void tell_of_contention();

  // context_trial.cc
  tune::Noise noise() const {
    if (situation_.job.nodes > 1) return tune::Noise::network;
    return crowding_ == engine::Crowding::roomy ? tune::Noise::little : tune::Noise::shared_cores;
  }
  std::optional<Way> way_of_table(const tune::Choice& choice, std::size_t bytes, std::string& trouble);
  std::vector<Way> ways_to_try(const tune::Choice& choice, std::size_t bytes, std::string& trouble);
  std::vector<tune::Candidate> order_to_try(const tune::Choice& choice, bool trial) const;
  std::vector<Way> with_stores(const std::vector<Way>& ways, std::size_t bytes) const;
  Outcome try_a_way(const Call& call, Decision& decision, std::size_t bytes);
  Outcome rest(const Call& call, Decision& decision, std::size_t bytes);
  void conclude_trial_call(Decision& decision, std::size_t bytes);
  void wait_for_last_to_leave();
  void settle_trial(Decision& decision, std::size_t bytes);
  static const Way* fastest_schedule(const Probation& trial);
  static bool is_far_from_predicted(const Probation& trial);
  void begin_trial(Decision& decision, std::vector<Way> ways, std::size_t bytes);
  bool widen_trial(Decision& decision, std::size_t bytes);
  static const Way* best_schedule(const Decision& decision);
  bool try_depths(Decision& decision, std::size_t bytes);
  bool try_stores(Decision& decision, std::size_t bytes);
  void try_against_winner(Decision& decision, std::vector<Way> ways, std::size_t bytes);
  std::size_t most_ways(std::size_t bytes) const;

  // context_trial_log.cc
  static std::vector<std::size_t> first_then_by_time(const Probation& probation, std::size_t first);
  void log_trial(const Probation& probation, std::size_t bytes);
  void log_open_trials() const;
  void log_change(Decision& decision, double seconds, std::size_t bytes) const;

  // context_review.cc
  static Way& watched_way(Decision& decision);
  static Way& looked_at(Decision& decision);
  void choose_rival(Decision& decision);
  static Review::Change change_in(Decision& decision, double seconds);
  void begin_review(Decision& decision, std::size_t bytes);
  static void end_look(Way& way);
  Outcome run_reviewed(const Call& call, Decision& decision, std::size_t bytes);
  void conclude_reviewed_call(Decision& decision, std::size_t bytes);
  void conclude_look(Decision& decision, std::size_t bytes);
  void try_anew(Decision& decision, std::size_t bytes);
  void hold_against_profile(const Probation& trial, std::size_t bytes);
  /// Of a way's call: what is predicted, and the part of that which is left if bytes on links between nodes take none.
  struct Price {
    double seconds = 0, beside_links = 1;
  };
  Price price_of(const Way& way, std::size_t bytes) const;

  // context_probe.cc
  void prepare_probe();
  std::unique_ptr<tune::Probe> new_probe(double share) const;
  std::vector<std::vector<std::int32_t>> ranks_of_nodes() const;
  std::vector<std::int32_t> first_ranks() const;
  std::int32_t probed_peer(const std::vector<std::vector<std::int32_t>>& ranks) const;
  std::vector<tune::Probe::Observation>
  observations_of_nodes(const std::vector<tune::Probe::Observation>& by_rank,
                        const std::vector<std::vector<std::int32_t>>& ranks) const;
  bool run_probe();
  bool probe_links();
  bool probe_memory();
  std::vector<std::string> switch_of_node() const;
  void log_probe(const tune::Probe& probe) const;

  // context_links.cc
  bool may_adopt_links() const;
  void conclude_links();
  void keep_links();
  void adopt_profile(const KnownProfile& known);
  const tune::JobShape& without_racks() const {
    return situation_.plain && !plain_is_of_hosts_ ? *situation_.plain : situation_.job;
  }
  /// Seconds of an empty message and bytes per second, between nodes and between racks; 0: not measured, or of a rank:
  /// as its node.
  struct NetworkNumbers {
    double latency, bandwidth, bandwidth_of_rank, uplink_latency, uplink;
  };
  void adopt_links(const topo::Hierarchy& hierarchy, const NetworkNumbers& numbers);
  void decide_anew();
  static void retire(Decision& decision);

  // context_messages.cc
  bool probe_messages();
  struct Couriers;
  Result<Couriers> connect_couriers(const CourierWay& way);
  struct RoundOfAll;
  Result<RoundOfAll> round_of_all(const topo::RingNeighbours& ring);
  bool probe_messages_of_all();
  bool conclude_messages();
  void leave_cores_for(double seconds) const;
  bool time_messages(Courier* courier, bool asks, std::byte* payload, tune::SecondsBySize& times);

  // context_run.cc
  static void count_on_board(Way& way, std::size_t bytes, bool in_parts);
  Outcome run_on_board(const Call& call, Way& way, std::size_t bytes);
  bool exchange_on_board(const Call& call, const kernel::Reducer& reduction, kernel::Stores stores);
  std::size_t ring_on_board(std::size_t whole) const;
  bool exchange_piece_on_board(const Call& piece, const kernel::Reducer& reduction, kernel::Stores stores);
  bool exchange_pieces_on_board(const Call& call, const kernel::Reducer& reduction, kernel::Stores stores);
  void publish_on_board(const std::byte* input, std::size_t bytes, kernel::Store store);
  bool await_operands(const std::byte* input, std::size_t bytes);
  bool await_pieces(const std::byte* input, std::size_t bytes);
  Outcome all_reduce_elsewhere(const Call& call, Decision& decision, std::size_t bytes);
  Outcome run(const Call& call, Way& way, std::size_t bytes);
  bool run_plan(const Call& call, const Way& way, engine::SliceMemory* memory);
  kernel::Reducer reducer(const Call& call) const;
  const void* await(std::size_t rank, std::size_t bytes);
  const void* await_wide(std::size_t rank, std::size_t bytes);
  const void* await_long(std::size_t rank, std::size_t bytes);
  bool is_needed_here(std::int32_t cpu, std::size_t bytes) const;

  // context_parts.cc
  bool is_in_parts(std::size_t whole, kernel::Stores stores) const;
  std::size_t most_of_parts(std::size_t whole) const;
  void add_inputs(const VectorInParts& parts, std::size_t step, const std::byte* input, std::byte* to,
                  kernel::Store publish);
  void add_results(const VectorInParts& parts, std::size_t step, std::byte* output, kernel::Store store);
  void make_copies() const;
  bool exchange_parts_on_board(const Call& call, const kernel::Reducer& reduction, kernel::Stores stores);

  // context_device.cc
  bool uses_device(const Call& call, std::size_t bytes);
  bool reduces_on_device(const Call& call, const Way& way);
  bool run_on_device(const Call& call, const Way& way, std::size_t bytes);
  bool prepare_resident(const Way& way);
  Status prepare_staging(const Way& way, std::size_t bytes);
  bool run_staged(const Call& call, const Way& way, std::size_t bytes);
  bool exchange_staged(const Call& call, const Way& way, std::size_t bytes);
  bool exchange_parts_staged(const Call& call, const Way& way, std::size_t bytes);
  bool await_copy(bool (Staging::*done)(std::uint32_t), std::uint32_t slot);
  void lose_device(const std::string& why) noexcept;

  // context_places.cc
  void note_device(const Call& call, std::size_t bytes);
  void expect_devices();
  void look_again(const Call& call, std::size_t bytes);
  void look_for_devices();
  void follow_users(const DeviceUsers& before);
  void follow_devices(const std::vector<topo::DevicePlace>& places);

  // context_peers.cc
  std::unique_ptr<PeerSlots> make_slots(const engine::Plan& plan);
  std::optional<MemoryKind> device_networks() const;
  std::vector<bool> waiters_among(const std::vector<std::string>& announced) const;
  Status share_slots(engine::Plan& plan, std::unique_ptr<PeerSlots>& slots, bool plan_is_connected);
  std::vector<std::byte*> map_slots(const engine::Plan& plan, PeerSlots& slots,
                                    const std::vector<std::string>& announced);
  bool sees_flags(engine::Plan& plan, PeerSlots& slots, const std::vector<bool>& senders);
  Result<std::vector<bool>> waiters_seen(engine::Plan& plan, PeerSlots* slots, const std::vector<bool>& readers,
                                         std::vector<bool> waiters, bool connected);
  Status keep_useful_slots(engine::Plan& plan, std::unique_ptr<PeerSlots>& slots, const std::vector<std::byte*>& mapped,
                           const std::vector<bool>& readers, const std::vector<bool>& waiters);
  void tell_trouble_with_peers(std::string_view why);
  void tell_trouble_with_flags(const std::string& why);
  void tell_of_flags();
  void tell_trouble_with_pinning();

  // context_wait.cc
  Wait wait() const override;
  std::string find_trouble() const override;
  Outcome give_up();

  struct Card; // what ranks tell each other first

  friend class ContextOfLinks; // of a test, which takes a probe's place

  Process& process_;
  trace::Recorder* const recorder_; ///< the process'; null: nothing is recorded
  std::shared_ptr<AllOrNone> bootstrap_;
  std::int32_t rank_;
  std::int32_t ranks_;
  std::string name_; ///< of the communicator
  Options options_;
  std::uint64_t key_;
  std::vector<transport::PeerAddress> addresses_; ///< of the transport being linked, by rank
  std::vector<std::uint64_t> socket_space_;       ///< by rank, as strata::socket_space() says
  std::vector<std::uint64_t> keys_;               ///< the peers' context keys
  std::vector<topo::RankFacts> facts_;
  std::vector<CoreShare> core_shares_;
  std::vector<std::uint32_t> usable_cores_; ///< that the ranks of its node have together
  std::vector<std::string> hosts_, switches_, warnings_, notes_, transport_names_;
  engine::Crowding crowding_ = engine::Crowding::roomy;
  engine::CoreContention contention_;
  bool told_of_contention_ = false;

  std::unique_ptr<transport::shm::ShmLinks> neighbours_;
  std::vector<std::unique_ptr<transport::Links>> links_;
  std::vector<transport::Links*> all_links_;
  std::vector<std::string> link_names_;
  std::vector<std::uint8_t> route_;

  tune::Situation situation_;
  bool plain_is_of_hosts_ = false; ///< situation_.plain has the levels of the ranks' cores, its job those of devices
  KnownProfile links_known_;
  /// Rounds of trials in a row that contradict what was adopted, of a profile or of this job's own probe; empty: there
  /// is nothing to be judged.
  std::optional<std::uint32_t> profile_doubts_;
  bool has_rejected_profile_ = false;
  std::uint32_t adoptions_ = 0;     ///< how often something became known of the links
  std::uint32_t level_changes_ = 0; ///< how often that gave other levels, and so other plans
  std::optional<topo::LinkMatrix> matrix_;
  std::optional<tune::Table> table_;   ///< of ways; the same on all ranks, but for the lines of the file
  bool cannot_probe_ = false;          ///< a round failed
  std::unique_ptr<tune::Probe> probe_; ///< null: nothing to measure, or not any more
  std::array<Decision, tune::size_classes> decisions_;
  std::unique_ptr<transport::shm::ParityBoard> board_;
  bool board_failed_ = false;
  std::optional<Error> left_to_native_; ///< why nothing is decided any more
  std::unique_ptr<LeftPlans> left_;     ///< empty; so that leaving takes no memory
  std::vector<double> seconds_of_all_;  ///< room for what trials and reviews exchange
  std::vector<MadePlan> plans_;
  std::vector<std::vector<topo::Level>> planned_levels_; ///< of plans, each once: racks come and go, and come again
  std::uint32_t next_plan_ = 0;
  std::vector<const void*> operands_;
  std::vector<kernel::Copy> copies_; ///< of one exchange in parts
  std::uint64_t calls_ = 0;
  std::uint64_t next_look_ = UINT64_MAX; ///< the call before which ranks ask each other whether they use devices
  Watch watch_;
  const engine::Plan* waiting_plan_ = nullptr; ///< while a plan runs
  std::size_t waiting_bytes_ = 0;              ///< of the exchange or call that waits
  std::map<std::string, Tally> failures_;
  Device* device_ = nullptr; ///< of the process; null: every buffer is in host memory
  DeviceUse device_use_;
  CallBuffers buffers_;                ///< of the last call that was looked at
  std::unique_ptr<Staging> staging_;   ///< from the first call with a buffer in device memory that is staged
  std::unique_ptr<Resident> resident_; ///< from the first call that stays in device memory
};

} // namespace strata::comm
