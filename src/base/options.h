// SPDX-License-Identifier: BSD-3-Clause
// Options: one table. A row is all that a new option needs; strata-info, strata.7 and the test that they agree are
// made from it. Values come from the environment as STRATA_<NAME>; nothing else in the library reads the environment.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata {

enum class Mode : std::uint8_t {
  automatic, ///< native where it is predicted to be faster
  always,    ///< never native for an eligible call
  off,       ///< pass everything through
};

/// How the way of doing a size class is found.
enum class Tune : std::uint8_t {
  online, ///< the first calls try the best few ways
  model,  ///< the cost model alone
  file,   ///< as a table says; what it does not say, as online
  off,    ///< the cost model with its built-in numbers: nothing that was measured counts
};

/// What becomes of buffers in device memory that a call which is the MPI library's passes to it.
enum class DeviceNative : std::uint8_t {
  automatic, ///< as they are to a MPI library that says it knows such memory, else as staged
  stage,     ///< in copies in host memory
  pass,      ///< as they are
  refuse,    ///< not at all: the call fails
};

/// Whether calls reduce in device memory, over slots that the peers of the machine map.
enum class DevicePeer : std::uint8_t {
  automatic, ///< where it can be done; devices tell each other when a payload is there, where they can
  hosts,     ///< likewise, but the hosts tell each other
  off,
};

/// Whether messages between nodes go straight from and to device memory.
enum class DeviceDirect : std::uint8_t {
  automatic, ///< where the transport can
  off,
};

/// Which network cards messages between nodes go through.
enum class DeviceNetwork : std::uint8_t {
  automatic, ///< of processes with a buffer in device memory, those that are nearest to that device; else UCX chooses
  nearest,   ///< likewise, and a process without says so
  ucx,       ///< UCX chooses
};

/// All option values of a process, at first the defaults. Every rank of a context runs with rank 0's agreed ones.
struct Options {
  Mode mode = Mode::automatic;
  Tune tune = Tune::online;
  bool log_choice = false;
  bool statistics = false;
  std::string levels;       ///< hand-set hierarchy; empty: measured
  std::string algorithm;    ///< forced algorithms, innermost level first; empty: chosen
  std::uint64_t slice = 0;  ///< bytes; 0: chosen
  std::uint64_t window = 0; ///< slices in flight; 0: chosen
  std::string transports = "shm,ucx,mpi";
  std::uint64_t segment = std::uint64_t{256} << 20; ///< most bytes of shared memory of one process
  std::uint64_t scratch = std::uint64_t{256} << 20; ///< most bytes of private scratch of one process
  std::uint64_t context_calls = 2;                  ///< a context is made at this eligible call on a communicator
  bool context_calls_follow_mode = true;            ///< they were not set
  bool reproducible = false;                        ///< the same bits whatever the mapping, the timing and the choice
  bool check = false;                               ///< compare the ranks' arguments before each call
  std::uint64_t trial = 5;                          ///< percent of the time of calls that trying slower ways may cost
  std::uint64_t probe = 5;                          ///< percent of the time of calls that measuring links may take
  std::string table;                                ///< a file that says which way for which size; empty: none
  std::string profile = "cache";                    ///< where links that were measured before are known from
  std::uint64_t start_seconds = 10;                 ///< how long MPI_Init waits for the other ranks' hello
  std::uint64_t hang_seconds = 0;                   ///< a call that waits longer says for whom; 0: never
  std::string trace;                                ///< the file for the timelines of all ranks; empty: none
  int dump_signal = 0;                              ///< a process that gets it says what it waits for; 0: none
  std::string module_path;                          ///< where modules are; empty: beside the library
  std::string device = "auto";                      ///< the accelerator whose memory buffers may be in
  std::uint64_t bounce = std::uint64_t{64} << 20;   ///< most bytes of pinned memory that device buffers pass through
  DevicePeer device_peer = DevicePeer::automatic;
  DeviceDirect device_direct = DeviceDirect::automatic;
  DeviceNetwork device_network = DeviceNetwork::automatic;
  std::uint64_t device_memory = std::uint64_t{512} << 20; ///< most bytes of device memory for strata itself
  /// How the MPI library gets buffers in device memory.
  DeviceNative device_native = DeviceNative::automatic;
  std::uint64_t device_blocks = 0; ///< most thread blocks of a reduction on a GPU; 0: chosen
};

enum class Scope : std::uint8_t {
  local,  ///< each process by itself
  agreed, ///< rank 0's value counts for all ranks of a context
};

/// One option: its row in the table.
struct OptionRow {
  const char* name;    ///< without the prefix STRATA_
  const char* initial; ///< default, as it would be written
  const char* allowed; ///< for messages and the manual: "auto, always or off", "0, or 4K to 64M"
  const char* text;    ///< one sentence
  Scope scope;
  /// Sets the value; false when `value` is not allowed (nothing was changed then).
  bool (*set)(Options& options, const std::string& value);
  /// The value as it would be written: `set` takes it back.
  std::string (*get)(const Options& options);
};
std::span<const OptionRow> option_table();

/// Options with the values from the environment. A malformed or unknown STRATA_ variable leaves the default and adds
/// a line to `complaints`, such as
///   `STRATA_SLICE=12Q is not allowed (0, or 4K to 64M); using 0`
///   `STRATA_SLICES is not known (is STRATA_SLICE meant?); it is ignored`
/// A variable with an empty value counts as not set. A program that runs with more rights than its user gets the
/// defaults: its environment is not to be trusted.
Options options_from_environment(std::vector<std::string>& complaints);

/// The user's folder for what is kept from one process to the next: $XDG_CACHE_HOME/strata, or $HOME/.cache/strata.
/// Empty when neither is a full path, and in a program that runs with more rights than its user.
std::string cache_folder();

/// What a scheduler says of this node's place in its network: names of switches from the top down and the node's, and
/// what each of them is.
struct SchedulerPlace {
  std::string address; ///< "s0.s4.s8.n7"
  std::string pattern; ///< "switch.switch.switch.node"
};
/// Slurm's, from SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN. Empty when it says nothing or too much, and in a
/// program that runs with more rights than its user.
SchedulerPlace scheduler_place();

/// Where a value came from, for strata-info: "default" or "environment".
const char* option_origin(const OptionRow& row);

/// Sets an agreed option by its name without the prefix; false when there is none of this name, or `value` is not
/// allowed (nothing was changed then).
bool set_agreed_option(Options& options, const std::string& name, const std::string& value);

/// The agreed options as text, one NAME=VALUE a line, and back; the second returns the names whose values it changed.
std::string agreed_text(const Options& options);
std::vector<std::string> adopt_agreed(Options& options, const std::string& text);

/// "64K", "3M", "1073741824": bytes with an optional K, M or G (powers of 1024).
Result<std::uint64_t> parse_bytes(const std::string& text);
/// The shortest exact form that parse_bytes takes: "64K", "3M", "1000".
std::string format_bytes(std::uint64_t bytes);

} // namespace strata
