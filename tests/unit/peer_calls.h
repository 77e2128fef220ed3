// SPDX-License-Identifier: BSD-3-Clause
// Jobs whose calls may stay in device memory, and the paths that the calls took.
#pragma once

#include "device_calls.h"
#include "sharing_driver.h"

namespace strata::comm {

using device::SharingDriver;

/// By path.
using Rows = std::map<std::string, Tally>;

struct Seen {
  std::string faults;
  Rows rows;                 ///< of all ranks
  std::vector<Rows> by_rank; ///< of each
};

/// Knows its rank: the drivers of a job are made in the order of the ranks.
struct DriverOfRank : SharingDriver {
  using SharingDriver::SharingDriver;
  static inline int next = 0;
  const int rank = next++;
  bool is_odd() const { return rank % 2 != 0; }
};

template <typename Driver = SharingDriver>
Seen seen_by(ThreadJob& job, const std::vector<DeviceCall>& calls, const char* faults = "") {
  DeviceJob device;
  device.accelerator->faults = *device::parse_faults(faults);
  DriverOfRank::next = 0;
  device.give_devices<Driver>(job);
  Seen seen;
  seen.faults = device.run(job, calls);
  for (int rank = 0; rank < job.ranks(); ++rank) {
    seen.by_rank.push_back(job.process(rank).device()->tallies());
    for (const auto& [path, tally] : seen.by_rank.back())
      seen.rows[path] += tally;
  }
  return seen;
}
template <typename Driver = SharingDriver>
Seen seen_by(const Options& options, int ranks, const std::vector<DeviceCall>& calls, const char* faults = "") {
  ThreadJob job(ranks, options);
  return seen_by<Driver>(job, calls, faults);
}

inline Options with_algorithm(const char* algorithm, std::uint64_t slice = 0, std::uint64_t window = 0) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = algorithm;
  options.slice = slice;
  options.window = window;
  return options;
}

inline DeviceCall on_device(std::int64_t count, Place place, unsigned salt = 1) {
  DeviceCall call{{count, Element::float32, Operation::sum, place}, salt, 0, 0};
  call.all_on_device = true;
  return call;
}

/// After a call by which all ranks show that they work with the device.
inline std::vector<DeviceCall> shown(std::vector<DeviceCall> calls) {
  calls.insert(calls.begin(), on_device(3, Place::same));
  return calls;
}

} // namespace strata::comm
