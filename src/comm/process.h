// SPDX-License-Identifier: BSD-3-Clause
// What belongs to the process and is shared by all of its contexts: options, kernels, one segment, one worker.
#pragma once

#include "base/host.h"
#include "base/options.h"
#include "comm/device.h"
#include "comm/known_links.h"
#include "comm/known_table.h"
#include "comm/tally.h"
#include "engine/scratch.h"
#include "kernel/kernel.h"
#include "topo/local_facts.h"
#include "trace/recorder.h"
#include "transport/shm/shm_transport.h"
#include "transport/transport.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace strata::comm {

/// Makes a transport that carries messages between nodes; the error says why it cannot run here.
struct TransportMaker {
  std::string name; ///< as the option TRANSPORTS spells it
  /// `device`: the accelerators of the process; null when it can have none.
  std::function<Result<std::unique_ptr<transport::Transport>>(const Options&, Device* device)> make;
};

/// What a departed context leaves until no peer reads it any more.
class Remains {
public:
  virtual ~Remains() = default;
  virtual bool quiescent() = 0;

private:
  friend class Process;
  std::unique_ptr<Remains> next_; ///< a chain, because leaving is to take no memory
};

/// Calls and bytes, collected over all contexts of the process.
struct Statistics {
  std::map<std::string, Tally> by_algorithm;      ///< what ran here
  std::map<std::string, Tally> native_by_reason;  ///< what was handed to the MPI library
  std::map<std::string, Tally> sent_by_level;     ///< messages and bytes that this rank sent, by level
  std::map<std::string, Tally> sent_by_transport; ///< the same by transport
  std::map<std::string, Tally> device_by_path;    ///< calls with buffers in device memory, and what was copied for them
  std::uint64_t contexts = 0;
  /// The most that the process has held at a time, for all of its contexts; only Process::counted() knows it.
  std::uint64_t most_segment_bytes = 0, most_scratch_bytes = 0, most_message_bytes = 0;
  void add(const Statistics& other);
};

class Process {
public:
  /// `kernels`: null for the best that this processor runs.
  Process(Options options, transport::shm::Backing backing, std::vector<TransportMaker> makers,
          const kernel::Kernels* kernels = nullptr);
  /// All contexts are gone. Slower peers may still read what these left in shared memory.
  ~Process();

  /// In a child of fork() everything belongs to the parent, which goes on: nothing is to be given back from there.
  bool is_forked_copy() const;
  /// One context more or less: peers do not wait for a process that has none, and it may end.
  void count_contexts(int change);

  const Options& options() const { return options_; }
  /// For contexts that are made from now on; false, and nothing is changed, unless it is an agreed option and an
  /// allowed value.
  bool set_agreed_option(const std::string& name, const std::string& value);
  const kernel::Kernels& kernels() const { return *kernels_; }
  const topo::LocalFacts& facts() const { return facts_; }
  std::uint64_t socket_space() const { return socket_space_; }
  engine::ScratchBudget& scratch() { return scratch_; }
  /// Null unless the job is traced.
  trace::Recorder* recorder() const { return recorder_.get(); }
  /// Before the first context is made.
  void start_recording() { recorder_ = std::make_unique<trace::Recorder>(); }
  KnownLinks& known_links() { return known_links_; }
  KnownTable& known_table() { return known_table_; }
  /// The accelerators; null when this process can have none.
  Device* device() { return device_.get(); }
  /// Instead of what STRATA_DEVICE names, for contexts that are made from now on.
  void use_device(std::unique_ptr<device::Driver> driver);
  /// Why not; empty when there are some.
  const Error& why_no_device() const { return why_no_device_; }
  /// Why buffers of the program may be in device memory that strata takes for the host's: the program uses a device by
  /// now that strata cannot work with, or has no module for. Empty: they are not. For rare calls.
  std::string why_blind();
  /// What this process waits for; in its segment, if it can have one. The same at every call.
  Activity& activity();
  /// The process' rank among all ranks of the job, for whoever reads its activity.
  void set_place_in_job(std::int32_t rank, std::int32_t ranks);

  /// The shared-memory transport, or null with the reason why it could not be made. Made when first asked for.
  transport::shm::ShmTransport* shared_memory(Error* why_not);
  /// The transport of that name; made when first asked for, and never tried again when that failed.
  transport::Transport* between_nodes(const std::string& name, std::string* why_not);
  std::vector<std::string> between_nodes_names() const;

  /// A number that no other context of this process has had.
  std::uint64_t next_context_key();

  /// Keeps what a context leaves, and destroys what has become quiescent since the last time.
  void bury(std::unique_ptr<Remains> remains);

  /// Writes a line for the user, unless it was written before. Any thread.
  void say_once(const std::string& line);

  /// What contexts that are gone have counted, and the process itself.
  Statistics counted();
  Statistics& statistics() { return statistics_; }
  std::mutex& statistics_mutex() { return mutex_; }

private:
  Result<std::unique_ptr<transport::shm::ShmTransport>> make_shared_memory() const;
  void tell_cards(const transport::Transport& transport) const;

  struct Started {
    std::unique_ptr<transport::Transport> transport;
    std::string why_not;
  };

  Options options_;
  transport::shm::Backing backing_;
  std::vector<TransportMaker> makers_;
  const kernel::Kernels* kernels_ = nullptr;
  topo::LocalFacts facts_;
  std::uint64_t socket_space_ = strata::socket_space();
  engine::ScratchBudget scratch_;
  std::unique_ptr<trace::Recorder> recorder_;
  KnownLinks known_links_;
  KnownTable known_table_;
  Error why_no_device_;
  std::unique_ptr<Device> device_;
  Activity activity_; ///< without a segment
  const pid_t pid_ = ::getpid();
  std::mutex mutex_;
  int contexts_ = 0;
  bool shared_memory_tried_ = false;
  std::unique_ptr<transport::shm::ShmTransport> shared_memory_;
  Error shared_memory_why_not_;
  std::map<std::string, Started> started_;
  std::uint64_t context_key_ = 0;
  Statistics statistics_;
  std::set<std::string> said_;       ///< once
  std::unique_ptr<Remains> remains_; // last: refers to the transports
};

} // namespace strata::comm
