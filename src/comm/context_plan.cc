// SPDX-License-Identifier: BSD-3-Clause
// What a context decides for a size class, once: the choice, and the plan or the slots for it. Collective.
#include "comm/context.h"

#include "base/log.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace strata::comm {
namespace {

/// Several agreements in one exchange.
struct PlanCard {
  std::uint8_t prepared;
  std::uint8_t has_slots; ///< on a device
  std::uint64_t announcements[4];
};

} // namespace

/// False: not yet, because memory of peers is still mapped.
bool Context::MadePlan::leave() {
  if (left || !plan) return true;
  if (slots && !slots->leave()) return false; // before its owners hear that nobody reads them any more
  plan->depart();
  left = true;
  return true;
}

class Context::LeftPlans final : public Remains {
public:
  std::vector<std::unique_ptr<transport::Links>> links; // used by the plans below
  std::unique_ptr<transport::shm::ShmLinks> neighbours;
  std::vector<MadePlan> plans;
  std::unique_ptr<transport::shm::ParityBoard> board;
  // What this rank has announced, until all ranks have agreed on what becomes of it. Where they cannot, because an
  // exchange has failed on one of them, it stays here for as long as the process lives: those who have heard of it may
  // still be connecting to it, or may hold it for made, and write to it when they leave.
  MadePlan unsettled;
  std::unique_ptr<transport::shm::ParityBoard> unsettled_board;

  ~LeftPlans() override {
    const bool unread = quiescent();
    for (MadePlan& made : plans)
      unmake(made, unread);
    give_up_unsettled();
    plans.clear();
    board.reset();
  }
  bool quiescent() override {
    bool all = board == nullptr || board->quiescent();
    for (MadePlan& made : plans)
      all &= made.leave() && (made.plan == nullptr || made.plan->quiescent());
    return all && unsettled.plan == nullptr && unsettled_board == nullptr;
  }
  /// When nobody has it, nor is about to connect to it, any more. Devices may still have its slots mapped.
  void give_up_unsettled() {
    unmake(unsettled, false);
    unsettled_board.reset();
  }

private:
  static void unmake(MadePlan& made, bool unread) {
    if (made.slots && !unread) made.slots->keep_memory();
    made.plan.reset(); // before the slots that it uses
    made.slots.reset();
  }
};

Context::Context(Process& process, std::shared_ptr<AllOrNone> bootstrap)
    : process_(process), recorder_(process.recorder()), bootstrap_(std::move(bootstrap)), rank_(bootstrap_->rank()),
      ranks_(bootstrap_->ranks()), name_(printable(bootstrap_->name())), options_(process.options()),
      key_(process.next_context_key()), left_(std::make_unique<LeftPlans>()),
      seconds_of_all_(static_cast<std::size_t>(ranks_)), operands_(static_cast<std::size_t>(ranks_)),
      watch_(bootstrap_->idle_hook(), process.activity(), rank_, ranks_, process.options().hang_seconds),
      device_(process.device()) {
  copies_.reserve(2 * static_cast<std::size_t>(ranks_)); // a call takes no memory
  process_.count_contexts(1);
}

Context::~Context() {
  if (process_.is_forked_copy()) {
    leave_to_parent();
    return;
  }
  try {
    log_open_trials();
    const Statistics mine = statistics();
    const std::lock_guard lock(process_.statistics_mutex());
    process_.statistics().add(mine);
  } catch (const std::bad_alloc&) { // these calls are not counted
  }
  for (MadePlan& made : plans_)
    (void)made.leave(); // else bury() sees to it
  if (board_) board_->depart();
  put_aside();
  process_.bury(std::move(left_));
  process_.count_contexts(-1);
}

/// What peers may still use.
void Context::put_aside() {
  left_->plans = std::move(plans_);
  left_->board = std::move(board_);
  left_->links = std::move(links_);
  left_->neighbours = std::move(neighbours_);
}

/// Their memory is shared with the peers, and with a parent that is in the midst of its calls.
void Context::leave_to_parent() {
  put_aside();
  (void)left_.release();
  (void)probe_.release();
}

void Context::tell() const {
  if (rank_ != 0) return;
  for (const std::string& warning : warnings_)
    process_.say_once(warning);
  if (!options_.log_choice) return;
  for (const std::string& note : notes_)
    log_line(note);
}

tune::Choice Context::choice_for(std::size_t bytes) const {
  tune::Choice choice = tune::choose(situation_, options_, tune::size_class(bytes));
  apply_table(choice, bytes);
  return choice;
}

Status Context::make_board() {
  const bool crowded = crowding_ == engine::Crowding::crowded;
  // Ranks on one core find everything in its cache.
  const std::uint64_t core_cache = usable_cores_[static_cast<std::size_t>(rank_)] > 1 ? process_.facts().core_cache : 0;
  const std::size_t ring_bytes = tune::board_ring_bytes(ranks_, core_cache);
  auto prepared = transport::shm::ParityBoard::prepare(neighbours_->neighbours(), tune::board_piece_bytes(ranks_),
                                                       ring_bytes, crowded);
  std::unique_ptr<transport::shm::ParityBoard>& board = left_->unsettled_board;
  if (prepared) board = std::move(*prepared);
  PlanCard mine{};
  mine.prepared = board ? 1 : 0;
  if (board) mine.announcements[0] = board->announcement();
  auto all = gather(*bootstrap_, mine);
  if (!all) return all.error();
  std::vector<std::uint64_t> announced;
  bool all_prepared = true;
  for (const PlanCard& card : *all) {
    all_prepared &= card.prepared != 0;
    announced.push_back(card.announcements[0]);
  }
  Status connected = prepared ? ok() : prepared.error();
  if (all_prepared) connected = board->connect(announced);
  const bool works = all_agree(all_prepared && connected);
  if (!bootstrap_->is_whole()) return exchange_failed();
  if (works)
    board_ = std::move(board);
  else
    board.reset();
  if (works || !connected) return connected;
  return Error{ErrorKind::resource,
               all_prepared ? "another rank could not read the slots" : "another rank has no room for its slots"};
}

Result<std::unique_ptr<engine::Plan>> Context::prepare_plan(const tune::Candidate& candidate) {
  const hier::AllReduce schedule(situation_.job_of(candidate).hierarchy, candidate.composition);
  engine::PlanShape shape;
  shape.number = next_plan_;
  shape.slice_bytes = candidate.slice_bytes;
  shape.window = candidate.window;
  shape.scratch = &process_.scratch();
  shape.recorder = recorder_;
  return engine::Plan::prepare(schedule.program(rank_), shape, {all_links_, route_}, process_.kernels().copy);
}

/// Collective, after connect(). Who cannot is not waited for; and who has heard of its peers goes on answering them
/// until all have.
Status Context::reach_peers(engine::Plan& plan, Status connected) {
  if (!all_agree(static_cast<bool>(connected)))
    return connected ? Error{ErrorKind::resource, "another rank could not make this plan"} : connected;
  const auto keep_connecting = [](void* one) { (void)static_cast<engine::Plan*>(one)->connected(); };
  connected = Error{}; // also where there is no memory to say why
  bootstrap_->run_and_wait([&] { connected = hear_of_peers(plan); }, {keep_connecting, &plan});
  return connected;
}

// A peer may have an address and still not be reachable (a firewall, another network): better to know before the first
// message than to hang in it.
Status Context::hear_of_peers(engine::Plan& plan) {
  constexpr auto patience = std::chrono::seconds(10);
  const auto end = std::chrono::steady_clock::now() + patience;
  engine::Waiter waiter(bootstrap_->idle_hook(), crowding_, contention_between_nodes());
  while (!plan.connected()) {
    if (const char* why = plan.failure()) return Error{ErrorKind::peer, why};
    if (std::chrono::steady_clock::now() > end) {
      plan.give_up_connecting();
      return Error{ErrorKind::peer,
                   fmt::format("rank {} did not hear from all of its peers in {} s{}", rank_, patience.count(),
                               keeps_to_near_cards() ? " by the network cards nearest to its device "
                                                       "(STRATA_DEVICE_NETWORK=ucx leaves the choice to UCX)"
                                                     : "")};
    }
    waiter.step(crowding_ == engine::Crowding::crowded);
  }
  return ok();
}

bool Context::keeps_to_near_cards() const {
  return device_ != nullptr && device_->used() >= 0 && options_.device_network != DeviceNetwork::ucx;
}

/// With how many ranks' devices in mind a plan is made now.
std::int32_t Context::users_of_slots() const {
  return options_.device_peer == DevicePeer::off ? 0 : device_use_.users.anywhere;
}

/// A candidate's name says nothing of its levels, and racks may have been others before.
std::size_t Context::number_of(const std::vector<topo::Level>& levels) {
  const auto known = std::find(planned_levels_.begin(), planned_levels_.end(), levels);
  const auto number = static_cast<std::size_t>(known - planned_levels_.begin());
  if (known == planned_levels_.end()) planned_levels_.push_back(levels);
  return number;
}

/// Where there is no room for a plan with slots in device memory, one that was made without, before devices came, still
/// serves.
Result<const Context::MadePlan*> Context::make_plan(const tune::Candidate& candidate) {
  const std::string name = candidate.name();
  const std::size_t levels = number_of(situation_.job_of(candidate).hierarchy.levels);
  const auto same = [&](const MadePlan& made) { return made.name == name && made.levels == levels; };
  const auto newest = [&](const auto& fits) { return std::find_if(plans_.rbegin(), plans_.rend(), fits); };
  const std::int32_t users = users_of_slots();
  const auto known = newest([&](const MadePlan& made) { return same(made) && made.device_users == users; });
  if (!bootstrap_->is_whole()) return exchange_failed(); // nothing is announced any more
  Result<const MadePlan*> made = Error{ErrorKind::resource, "the same plan could not be made before"};
  if (known == plans_.rend())
    made = make_new_plan(candidate, levels);
  else if (known->plan)
    return &*known;
  if (made) return made;
  const auto older = newest([&](const MadePlan& one) { return same(one) && one.plan; });
  return older == plans_.rend() ? made : &*older;
}

Result<const Context::MadePlan*> Context::make_new_plan(const tune::Candidate& candidate, std::size_t levels) {
  auto prepared_here = prepare_plan(candidate);
  ++next_plan_;
  auto slots_here = prepared_here ? make_slots(**prepared_here) : nullptr;
  MadePlan& made = left_->unsettled;
  made = {candidate.name(), levels, users_of_slots(), nullptr, std::move(slots_here), false};
  if (prepared_here) made.plan = std::move(*prepared_here);
  PlanCard mine{};
  mine.prepared = made.plan ? 1 : 0;
  mine.has_slots = made.slots ? 1 : 0;
  if (made.plan) {
    const auto numbers = made.plan->announcements();
    std::copy(numbers.begin(), numbers.end(), mine.announcements);
  }
  auto all = gather(*bootstrap_, mine);
  if (!all) return all.error();
  std::vector<std::vector<std::uint64_t>> announced(all_links_.size());
  bool prepared = true, on_devices = false;
  for (const PlanCard& card : *all) {
    prepared &= card.prepared != 0;
    on_devices |= card.has_slots != 0;
    for (std::size_t link = 0; link < announced.size(); ++link)
      announced[link].push_back(card.announcements[link]);
  }
  Status connected = made.plan ? ok() : prepared_here.error();
  if (prepared) connected = made.plan->connect(announced);
  if (prepared && nodes() > 1) connected = reach_peers(*made.plan, std::move(connected));
  on_devices &= prepared;
  if (on_devices)
    if (const Status shared = share_slots(*made.plan, made.slots, bool(connected)); !shared) return shared.error();
  plans_.push_back({made.name, levels, made.device_users, nullptr, nullptr,
                    false}); // while a lack of memory is still one of all ranks
  const bool works = all_agree(prepared && connected);
  if (!works && on_devices) {
    // Nobody has it mapped when it is freed.
    if (!all_agree(made.slots == nullptr || made.slots->leave()) && made.slots) made.slots->keep_memory();
  }
  if (!bootstrap_->is_whole()) return exchange_failed();
  if (works) {
    plans_.back() = std::move(made);
    return &plans_.back();
  }
  made.plan.reset();
  made.slots.reset();
  return connected ? Error{ErrorKind::resource, "another rank could not make this plan"} : connected.error();
}

Status Context::prepare_board() {
  if (board_) return ok();
  if (!bootstrap_->is_whole()) return exchange_failed();
  if (board_failed_) return Error{ErrorKind::resource, "there was no room for the slots before"};
  const Status made = make_board();
  board_failed_ = !made;
  return made;
}

/// Over the levels of devices a way may have the name of another over those of the cores.
std::string Context::name_of(const tune::Candidate& candidate) const {
  return candidate.name() + (candidate.plain && plain_is_of_hosts_ ? " over cores" : "");
}

/// For calls of the size class of `bytes`.
Result<Context::Way> Context::prepare_way(const tune::Candidate& candidate, std::size_t bytes) {
  Way way;
  way.name = name_of(candidate);
  way.long_slices = candidate.long_slices;
  way.in_table = tune::way_of(candidate);
  way.in_table.around.reset();
  way.predicted = candidate.seconds;
  way.predicted_after = adoptions_;
  if (candidate.kind == tune::Candidate::Kind::native) {
    way.path = Path::native;
  } else if (candidate.kind == tune::Candidate::Kind::board) {
    if (const Status made = prepare_board(); !made) return made.error();
    way.path = Path::board;
  } else {
    const auto made = make_plan(candidate);
    if (!made) return made.error();
    way.path = Path::plan;
    way.plan = (*made)->plan.get();
    way.slots = (*made)->slots.get();
    way.plan->make_ready(tune::bounds_of_class(tune::size_class(bytes)).second);
  }
  return way;
}

/// Where nothing is tried: results that no cache keeps go around the caches.
kernel::Stores Context::default_stores(std::size_t bytes) {
  constexpr std::size_t streaming_from = std::size_t{8} << 20;
  return {kernel::Store::cached, bytes < streaming_from ? kernel::Store::cached : kernel::Store::streaming};
}

kernel::Stores Context::stores_of(tune::Around around) {
  using tune::Around;
  if (around == Around::demoted) return {kernel::Store::demoted, kernel::Store::cached};
  const auto store = [around](Around one) {
    return around == one || around == Around::both ? kernel::Store::streaming : kernel::Store::cached;
  };
  return {store(Around::published), store(Around::results)};
}

/// As decide(); where a rank has no memory for that, or its program uses a device by now whose memory nobody here
/// knows, everything is native's on all of them.
void Context::choose_way(Decision& decision, const Call& call, std::size_t bytes) {
  std::string why_blind;
  const auto steps = [&] {
    if (bootstrap_->has_native()) why_blind = process_.why_blind();
    if (!why_blind.empty()) return bootstrap_->stay_away();
    if (device_ != nullptr) note_device(call, bytes);
    look_for_devices();
    decide(decision, bytes);
  };
  if (left_to_native_) return leave_all_to_native(std::move(*left_to_native_)); // a class that was not asked for yet
  if (Status ran = bootstrap_->run(steps); !ran)
    leave_all_to_native(own_words(std::move(ran).error(), std::move(why_blind)));
}

/// A rank ran out of memory at a place that the others do not know, or stays away, or there was no exchange: what was
/// decided, and half made, may differ.
void Context::leave_all_to_native(Error why) {
  left_to_native_ = std::move(why);
  if (bootstrap_->exchanges_work()) left_->give_up_unsettled(); // all have left the steps
  probe_.reset();
  for (Decision& decision : decisions_) {
    if (decision.way.path == Path::lost) continue;
    try {
      retire(decision);
    } catch (const std::bad_alloc&) { // only its counts are lost
      decision.trial.reset();
      decision.review.reset();
    }
    decision.way = Way{};
    decision.way.path = Path::native;
  }
  // What the user was promised is said to be over in any case. Those who stay away know best why.
  try {
    if (left_to_native_->message.empty()) *left_to_native_ = out_of_memory();
    const std::string what = left_to_native_->message + ": a communicator's calls go to the MPI library";
    if (rank_ == 0 && options_.reproducible)
      process_.say_once(what + ", and STRATA_REPRODUCIBLE=1 cannot be kept");
    else if (rank_ == 0 && options_.mode == Mode::always)
      process_.say_once(what);
    else if (options_.log_choice && (rank_ == 0 || left_to_native_->kind == ErrorKind::unsupported))
      process_.say_once(what);
  } catch (const std::bad_alloc&) { // then not even that
  }
}

void Context::decide(Decision& decision, std::size_t bytes) {
  const tune::Choice choice = choice_for(bytes);
  std::string trouble = choice.note;
  std::vector<Way> ways = ways_to_try(choice, bytes, trouble);
  if (ways.size() > 1) {
    begin_trial(decision, std::move(ways), bytes);
    if (!choice.source.empty())
      trouble += fmt::format("{}{}, from table {}, is tried first", trouble.empty() ? "" : "; ", choice.chosen.name(),
                             choice.source);
    if (options_.log_choice && rank_ == 0 && !trouble.empty()) log_line(trouble);
    return;
  }
  decision.way = std::move(ways.front());
  if (options_.reproducible && decision.way.path == Path::native && rank_ == 0)
    log_line(fmt::format("STRATA_REPRODUCIBLE=1 cannot be kept for {} bytes on {} ranks: {}", bytes, ranks_, trouble));
  if (options_.log_choice && rank_ == 0)
    log_choice(choice, bytes,
               trouble.empty() ? std::string() : fmt::format("{}; using {}", trouble, decision.way.name));
}

void Context::log_choice(const tune::Choice& choice, std::size_t bytes, const std::string& trouble) {
  const auto [low, high] = tune::bounds_of_class(tune::size_class(bytes));
  const std::string from = choice.source.empty() ? std::string() : fmt::format("from table {}; ", choice.source);
  std::string line =
      fmt::format("{} ranks on {} nodes, {} to {} bytes: {} ({}{} predicted)", ranks_, situation_.job.nodes, low, high,
                  name_of(choice.chosen), from, format_duration(choice.chosen.seconds));
  std::size_t shown = 0;
  for (const tune::Candidate& candidate : choice.runners_up) {
    if (shown++ == 3) break;
    line +=
        fmt::format("{} {} ({})", shown == 1 ? "; then" : ",", name_of(candidate), format_duration(candidate.seconds));
  }
  if (!trouble.empty()) line += "; " + trouble;
  log_line(line);
}

} // namespace strata::comm
