// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"

#include "base/option_rows.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include <sys/auxv.h>
#include <unistd.h>

namespace strata {

namespace {

using namespace option_rows;

constexpr std::uint64_t operator""_KiB(unsigned long long count) { return count << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long count) { return count << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long count) { return count << 30; }

constexpr std::array modes{Named<Mode>{"auto", Mode::automatic}, Named<Mode>{"always", Mode::always},
                           Named<Mode>{"off", Mode::off}};
constexpr std::array tunes{Named<Tune>{"online", Tune::online}, Named<Tune>{"model", Tune::model},
                           Named<Tune>{"file", Tune::file}, Named<Tune>{"off", Tune::off}};
constexpr std::array log_topics{Named<bool Options::*>{"choice", &Options::log_choice}};
constexpr std::array transport_names{"shm", "ucx", "mpi", "loop"};

constexpr std::array signals{Named<int>{"none", 0}, Named<int>{"USR1", SIGUSR1}, Named<int>{"USR2", SIGUSR2},
                             Named<int>{"WINCH", SIGWINCH}};

constexpr std::array device_natives{
    Named<DeviceNative>{"auto", DeviceNative::automatic}, Named<DeviceNative>{"stage", DeviceNative::stage},
    Named<DeviceNative>{"pass", DeviceNative::pass}, Named<DeviceNative>{"refuse", DeviceNative::refuse}};

constexpr std::array device_peers{Named<DevicePeer>{"auto", DevicePeer::automatic},
                                  Named<DevicePeer>{"hosts", DevicePeer::hosts},
                                  Named<DevicePeer>{"off", DevicePeer::off}};

constexpr std::array device_directs{Named<DeviceDirect>{"auto", DeviceDirect::automatic},
                                    Named<DeviceDirect>{"off", DeviceDirect::off}};

constexpr std::array device_networks{Named<DeviceNetwork>{"auto", DeviceNetwork::automatic},
                                     Named<DeviceNetwork>{"nearest", DeviceNetwork::nearest},
                                     Named<DeviceNetwork>{"ucx", DeviceNetwork::ucx}};

constexpr std::string_view prefix = "STRATA_";

/// The rows of several tables, one after the other.
template <std::size_t... counts>
std::array<OptionRow, (counts + ...)> together(const std::array<OptionRow, counts>&... tables) {
  std::array<OptionRow, (counts + ...)> all{};
  auto end = all.begin();
  ((end = std::copy(tables.begin(), tables.end(), end)), ...);
  return all;
}

auto rows_of_ways() {
  return std::array{
      choice<&Options::mode, modes>(
          "MODE", "auto: native where it is faster; always: never native for an eligible call; off: pass through.",
          Scope::agreed),
      choice<&Options::tune, tunes>(
          "TUNE",
          "online: the first calls of a size try the best few ways, the fastest stays; model: by prediction; file: as "
          "TABLE says; off: by prediction from built-in numbers.",
          Scope::agreed),
      number<&Options::trial, 1, 100>(
          "TRIAL",
          "Percent of the time of a size's calls that ways on trial may cost beyond the fastest; 100: all at once.",
          Scope::agreed),
      text<&Options::table>("TABLE", "a file as in strata-table(5); empty: none",
                            "Which way for which size; with TUNE=file it decides, with online it is tried first.",
                            Scope::agreed),
      number<&Options::probe, 1, 50, Zero::allowed>(
          "PROBE", "Percent of the time of calls between nodes that measuring the links may take; 0 never measures.",
          Scope::agreed),
      text<&Options::profile>("PROFILE", "cache, none, or a file as in strata-profile(5)",
                              "Where links that were measured before are known from.", Scope::agreed),
      switches<log_topics>("LOG", "What is logged to standard error; choice: what runs, why, and the runners-up.",
                           Scope::local),
      flag<&Options::statistics>("STATS", "1 prints a table of calls, bytes and reasons at MPI_Finalize.",
                                 Scope::local),
      text<&Options::trace>("TRACE", "a file; empty: none",
                            "Rank 0's: at MPI_Finalize, it writes what every rank did when to this file.",
                            Scope::local),
      text<&Options::levels>("LEVELS", "factors such as 4x2, or groups such as 0,1|2,3 / 0-3; empty: measured",
                             "The hierarchy by hand, innermost level first.", Scope::agreed),
      text<&Options::algorithm>("ALGORITHM", "names of algorithms, separated by commas; empty: chosen",
                                "The algorithm of each level, innermost first.", Scope::agreed),
      bytes<&Options::slice, 4_KiB, 64_MiB, Zero::allowed>("SLICE", "Bytes of a slice; 0 lets the cost model choose.",
                                                           Scope::agreed),
      number<&Options::window, 1, 64, Zero::allowed>("WINDOW", "Slices in flight; 0 lets the cost model choose.",
                                                     Scope::agreed),
      list<&Options::transports, transport_names>("TRANSPORTS", "The transports that may be used.", Scope::agreed),
      bytes<&Options::segment, 1_MiB, 64_GiB>("SEGMENT", "Most bytes of shared memory of one process.", Scope::local),
      bytes<&Options::scratch, 1_MiB, 64_GiB>("SCRATCH", "Most bytes of private scratch of one process.", Scope::local),
  };
}

auto rows_of_devices() {
  return std::array{
      text<&Options::device>("DEVICE", "auto, cuda, off, or emulated for tests",
                             "Whose device memory the buffers of a call may be in.", Scope::local),
      choice<&Options::device_native, device_natives>(
          "DEVICE_NATIVE", "How the MPI library gets buffers in device memory; auto: as they are if it knows CUDA.",
          Scope::local),
      choice<&Options::device_peer, device_peers>(
          "DEVICE_PEER",
          "auto: ranks of a machine read each other's device memory; hosts: when hosts say so; off: never.",
          Scope::agreed),
      choice<&Options::device_direct, device_directs>(
          "DEVICE_DIRECT", "auto: messages between nodes go straight from and to device memory if UCX can; off: never.",
          Scope::local),
      choice<&Options::device_network, device_networks>(
          "DEVICE_NETWORK",
          "auto, nearest: the network cards nearest to the device that buffers are on; ucx: UCX chooses.",
          Scope::local),
      bytes<&Options::device_memory, 1_MiB, 64_GiB>(
          "DEVICE_MEMORY", "Most bytes of device memory that a process takes for strata itself.", Scope::local),
      number<&Options::device_blocks, 1, 65535, Zero::allowed>(
          "DEVICE_BLOCKS", "Most thread blocks of a reduction on a GPU; 0: four for each multiprocessor.",
          Scope::local),
      bytes<&Options::bounce, 1_MiB, 64_GiB>(
          "BOUNCE", "Most bytes of pinned host memory that buffers in device memory pass through, of one process.",
          Scope::local),
  };
}

auto rows_of_calls() {
  return std::array{
      number<&Options::context_calls, 1, 1000000>(
          "CONTEXT_CALLS",
          "The eligible call on a communicator at which strata starts to serve it; with MODE=always 1 unless set.",
          Scope::agreed),
      flag<&Options::reproducible>(
          "REPRODUCIBLE", "1: the same bits for a number of ranks whatever their mapping, the timing and the choice.",
          Scope::agreed),
      flag<&Options::check>("CHECK", "1: ranks compare their arguments before each call, and name what differs.",
                            Scope::agreed),
      number<&Options::start_seconds, 1, 3600>(
          "START_SECONDS", "How long MPI_Init waits for ranks that may run without strata.", Scope::local),
      number<&Options::hang_seconds, 1, 1000000, Zero::allowed>(
          "HANG_SECONDS", "A call that has waited that long says for which ranks; 0 never says it.", Scope::local),
      choice<&Options::dump_signal, signals>(
          "DUMP_SIGNAL", "A process that gets this signal writes a line about what it waits for.", Scope::local),
      text<&Options::module_path>("MODULE_PATH", "a folder; empty: strata/ beside the library",
                                  "Where the modules are.", Scope::local),
  };
}

} // namespace

std::span<const OptionRow> option_table() {
  static const std::array table = together(rows_of_ways(), rows_of_devices(), rows_of_calls());
  return table;
}

namespace {

const OptionRow* find_row(std::string_view name) {
  for (const OptionRow& row : option_table())
    if (name == row.name) return &row;
  return nullptr;
}

/// The complaint about STRATA_`name`: with the nearest known name, or all of them when none is near.
std::string unknown_option(std::string_view name) {
  const std::string shown = printable(name); // Bounded, and so is the effort of comparing it.
  const OptionRow* nearest = nullptr;
  std::size_t distance = std::numeric_limits<std::size_t>::max();
  std::string known;
  for (const OptionRow& row : option_table()) {
    if (const auto found = edit_distance(shown, row.name); found < distance) {
      distance = found;
      nearest = &row;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  if (distance <= std::max<std::size_t>(1, shown.size() / 2))
    return fmt::format("{}{} is not known (is {}{} meant?); it is ignored", prefix, shown, prefix, nearest->name);
  return fmt::format("{}{} is not known (after {}: {}); it is ignored", prefix, shown, prefix, known);
}

} // namespace

Options options_from_environment(std::vector<std::string>& complaints) {
  Options options;
  if (getauxval(AT_SECURE) != 0 || environ == nullptr) return options;
  options.context_calls = 0; // until it is known whether it was set
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view line(*variable);
    const auto equals = line.find('=');
    if (!line.starts_with(prefix) || equals == std::string_view::npos || equals + 1 == line.size()) continue;
    const std::string_view name = line.substr(prefix.size(), equals - prefix.size());
    const std::string value(line.substr(equals + 1));
    if (const OptionRow* row = find_row(name); row == nullptr)
      complaints.push_back(unknown_option(name));
    else if (!row->set(options, value)) {
      (void)row->set(options, row->initial); // what the complaint says
      complaints.push_back(fmt::format("{}{}={} is not allowed ({}); using {}", prefix, name, printable(value),
                                       row->allowed, *row->initial != '\0' ? row->initial : "none"));
    }
  }
  // Never native for an eligible call: not for the first one either.
  options.context_calls_follow_mode = options.context_calls == 0;
  if (options.context_calls_follow_mode)
    options.context_calls = options.mode == Mode::always ? 1 : Options().context_calls;
  return options;
}

std::string cache_folder() {
  for (const auto& [variable, rest] : {std::pair{"XDG_CACHE_HOME", "/strata"}, std::pair{"HOME", "/.cache/strata"}})
    if (const char* folder = secure_getenv(variable); folder != nullptr && *folder == '/')
      return std::string(folder) + rest;
  return "";
}

SchedulerPlace scheduler_place() {
  constexpr std::size_t most = 4096;
  const auto value_of = [](const char* variable) {
    const char* const value = secure_getenv(variable);
    const std::size_t length = value != nullptr ? ::strnlen(value, most) : most;
    return length < most ? std::string(value, length) : std::string();
  };
  return {value_of("SLURM_TOPOLOGY_ADDR"), value_of("SLURM_TOPOLOGY_ADDR_PATTERN")};
}

const char* option_origin(const OptionRow& row) {
  const char* value = secure_getenv(fmt::format("{}{}", prefix, row.name).c_str());
  Options options;
  return value != nullptr && *value != '\0' && row.set(options, value) ? "environment" : "default";
}

std::string agreed_text(const Options& options) {
  std::string text;
  for (const OptionRow& row : option_table())
    if (row.scope == Scope::agreed) text += fmt::format("{}={}\n", row.name, row.get(options));
  return text;
}

bool set_agreed_option(Options& options, const std::string& name, const std::string& value) {
  const OptionRow* row = find_row(name);
  return row != nullptr && row->scope == Scope::agreed && row->set(options, value);
}

std::vector<std::string> adopt_agreed(Options& options, const std::string& text) {
  std::vector<std::string> changed;
  for (std::string_view line : split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const OptionRow* row = find_row(line.substr(0, equals));
    const std::string value(line.substr(equals + 1));
    if (row == nullptr || row->scope != Scope::agreed || row->get(options) == value) continue;
    if (row->set(options, value)) changed.emplace_back(row->name);
  }
  return changed;
}

Result<std::uint64_t> parse_bytes(const std::string& text) {
  constexpr std::string_view suffixes = "KMG";
  std::string_view digits(text);
  std::size_t shift = 0;
  if (!digits.empty()) {
    const auto suffix = suffixes.find(digits.back());
    if (suffix != std::string_view::npos) {
      shift = 10 * (suffix + 1);
      digits.remove_suffix(1);
    }
  }
  const auto count = parse_number(digits);
  if (!count || *count > std::numeric_limits<std::uint64_t>::max() >> shift)
    return argument_error(
        fmt::format("\"{}\" is no number of bytes (digits, and K, M or G at the end)", printable(text)));
  return *count << shift;
}

std::string format_bytes(std::uint64_t bytes) {
  for (const auto& [unit, suffix] : {std::pair{1_GiB, 'G'}, std::pair{1_MiB, 'M'}, std::pair{1_KiB, 'K'}})
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, suffix);
  return std::to_string(bytes);
}

} // namespace strata
