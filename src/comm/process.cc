// SPDX-License-Identifier: BSD-3-Clause
#include "comm/process.h"

#include "base/address_space.h"
#include "base/log.h"
#include "base/module.h"
#include "device/loader.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::comm {
namespace {

const kernel::Kernels* load_kernels(const Options& options) {
  using Entry = const kernel::Kernels* (*)();
  if (auto symbol = open_module_symbol(options, "kernel", "strata_kernels_v3"))
    if (const kernel::Kernels* kernels = reinterpret_cast<Entry>(*symbol)()) return kernels;
  return &kernel::scalar(); // slower, never wrong; strata-info says which
}

} // namespace

void Statistics::add(const Statistics& other) {
  const auto merge = [](std::map<std::string, Tally>& into, const std::map<std::string, Tally>& from) {
    for (const auto& [name, tally] : from)
      into[name] += tally;
  };
  merge(by_algorithm, other.by_algorithm);
  merge(native_by_reason, other.native_by_reason);
  merge(sent_by_level, other.sent_by_level);
  merge(sent_by_transport, other.sent_by_transport);
  merge(device_by_path, other.device_by_path);
  contexts += other.contexts;
}

Process::Process(Options options, transport::shm::Backing backing, std::vector<TransportMaker> makers,
                 const kernel::Kernels* kernels)
    : options_(std::move(options)), backing_(backing), makers_(std::move(makers)),
      kernels_(kernels != nullptr ? kernels : load_kernels(options_)), facts_(topo::local_facts(options_)),
      scratch_(options_.scratch), known_links_(options_.log_choice) {
  auto driver = device::open_driver(options_);
  if (driver)
    use_device(std::move(*driver));
  else
    why_no_device_ = driver.error();
}

void Process::use_device(std::unique_ptr<device::Driver> driver) {
  device_ = std::make_unique<Device>(std::move(driver), options_.bounce, options_.device_memory);
}

std::string Process::why_blind() {
  std::string why;
  if (device_)
    why = device_->driver().why_blind();
  else if (device::program_uses_device(options_))
    why = why_no_device_.message;
  if (why.empty()) return why;
  return fmt::format(
      "this process uses a device whose memory strata cannot tell from the host's: {} (STRATA_DEVICE=off "
      "says that no buffer is there)",
      why);
}

bool Process::is_forked_copy() const { return ::getpid() != pid_; }

void Process::count_contexts(int change) {
  const std::lock_guard lock(mutex_);
  contexts_ += change;
  if (!shared_memory_) return;
  shared_memory_->segment().view().header().has_left.store(contexts_ == 0 ? 1 : 0, std::memory_order_release);
}

Process::~Process() {
  if (is_forked_copy()) {
    (void)shared_memory_.release();
    (void)remains_.release();
    return;
  }
  if (shared_memory_) {
    shared_memory_->segment().keep_pages();
    shared_memory_->segment().view().header().has_left.store(1, std::memory_order_release);
  }
  while (remains_) // one by one, for the chain may be long
    remains_ = std::move(remains_->next_);
}

/// The processes of a node map each other's segments; their number is not known yet, but it is hardly more than the
/// machine has threads, or the job ranks.
Result<std::unique_ptr<transport::shm::ShmTransport>> Process::make_shared_memory() const {
  constexpr std::size_t least_bytes = std::size_t{1} << 20, page_bytes = 4096;
  const std::int32_t ranks = activity_.world_ranks;
  const std::uint64_t threads = hardware_threads();
  std::size_t bytes =
      fair_share(options_.segment, ranks > 0 ? std::min(threads, static_cast<std::uint64_t>(ranks)) : threads);
  if (bytes < std::min(least_bytes, options_.segment))
    return Error{ErrorKind::resource, "too little address space is left under the process' limit (ulimit -v)"};
  bytes = std::min<std::uint64_t>(bytes, largest_file() / page_bytes * page_bytes);
  if (bytes < std::min(least_bytes, options_.segment))
    return Error{ErrorKind::resource, "the process' limit on the size of files (ulimit -f) is below a megabyte"};
  return transport::shm::ShmTransport::create(backing_, bytes);
}

transport::shm::ShmTransport* Process::shared_memory(Error* why_not) {
  const std::lock_guard lock(mutex_);
  if (!shared_memory_tried_) {
    shared_memory_tried_ = true;
    auto made = make_shared_memory();
    if (made) {
      shared_memory_ = std::move(*made);
      Activity& shown = shared_memory_->segment().view().header().activity;
      shown.world_rank.store(activity_.world_rank);
      shown.world_ranks.store(activity_.world_ranks);
    } else {
      shared_memory_why_not_ = made.error();
    }
  }
  if (why_not != nullptr) *why_not = shared_memory_why_not_;
  return shared_memory_.get();
}

Activity& Process::activity() {
  transport::shm::ShmTransport* const memory = shared_memory(nullptr);
  return memory != nullptr ? memory->segment().view().header().activity : activity_;
}

void Process::set_place_in_job(std::int32_t rank, std::int32_t ranks) {
  activity_.world_rank = rank;
  activity_.world_ranks = ranks;
}

bool Process::set_agreed_option(const std::string& name, const std::string& value) {
  return strata::set_agreed_option(options_, name, value);
}

std::vector<std::string> Process::between_nodes_names() const {
  std::vector<std::string> names;
  for (const TransportMaker& maker : makers_)
    names.push_back(maker.name);
  return names;
}

transport::Transport* Process::between_nodes(const std::string& name, std::string* why_not) {
  const std::lock_guard lock(mutex_);
  auto [started, is_new] = started_.try_emplace(name);
  if (is_new) {
    started->second.why_not = "this build has no such transport";
    for (const TransportMaker& maker : makers_) {
      if (maker.name != name) continue;
      auto made = maker.make(options_, device_.get());
      if (made)
        started->second.transport = std::move(*made);
      else
        started->second.why_not = made.error().message;
    }
  }
  transport::Transport* const transport = started->second.transport.get();
  if (is_new && transport != nullptr) tell_cards(*transport);
  if (why_not != nullptr) *why_not = started->second.why_not;
  return transport;
}

void Process::tell_cards(const transport::Transport& transport) const {
  const std::string note = options_.log_choice ? transport.network_note() : "";
  if (note.empty()) return;
  const std::int32_t rank = activity_.world_rank;
  log_line(rank >= 0 ? fmt::format("rank {} {}", rank, note) : fmt::format("process {} {}", pid_, note));
}

Statistics Process::counted() {
  const std::lock_guard lock(mutex_);
  Statistics sum = statistics_;
  if (shared_memory_) sum.most_segment_bytes = shared_memory_->segment().most_leased_bytes();
  sum.most_scratch_bytes = scratch_.most_taken();
  for (const auto& [name, started] : started_)
    if (started.transport) sum.most_message_bytes += started.transport->most_message_bytes();
  if (device_) sum.device_by_path = device_->tallies();
  return sum;
}

void Process::bury(std::unique_ptr<Remains> remains) {
  const std::lock_guard lock(mutex_);
  remains->next_ = std::move(remains_);
  remains_ = std::move(remains);
  for (std::unique_ptr<Remains>* kept = &remains_; *kept;)
    if ((*kept)->quiescent())
      *kept = std::move((*kept)->next_);
    else
      kept = &(*kept)->next_;
}

void Process::say_once(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (said_.insert(line).second) log_line(line);
}

std::uint64_t Process::next_context_key() {
  const std::lock_guard lock(mutex_);
  return ++context_key_;
}

} // namespace strata::comm
