// SPDX-License-Identifier: BSD-3-Clause
// What this process knows of the links between hosts: profiles that its own contexts measured, and those that earlier
// jobs or an administrator left in files.
#pragma once

#include "tune/profile.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace strata::comm {

/// Where a profile is from.
enum class Origin : std::uint8_t { none, this_job, earlier_job, site, file };
/// "none", "this job", "an earlier job", "the site", "a file".
const char* to_text(Origin origin);

struct KnownProfile {
  std::string text; ///< of a profile of the hosts that it is for; empty: none
  Origin origin = Origin::none;
  std::string path; ///< of its file
};

/// Of this installation, where an administrator may put profiles.
std::string site_profile_folder();

class KnownLinks {
public:
  /// `verbose`: the user wants to know why something cannot be kept.
  explicit KnownLinks(bool verbose, std::string site_folder = site_profile_folder())
      : verbose_(verbose), site_folder_(std::move(site_folder)) {}
  /// Writes what was measured here to the user's folder of profiles.
  ~KnownLinks();
  KnownLinks(const KnownLinks&) = delete;
  KnownLinks& operator=(const KnownLinks&) = delete;

  struct Found {
    KnownProfile known;
    std::vector<std::string> notes; ///< for a user who asked
    std::string complaint;          ///< for the user in any case: the file that was asked for is not used
  };
  /// `source` is the option PROFILE: "cache", "none" or the path of a file, which is looked at once for each set of
  /// `hosts` (sorted, each once). Of the profile, what it says of these.
  Found find(const std::string& source, const std::vector<std::string>& hosts, const std::string& transport);
  /// Keeps a profile for later contexts of this process; and at its end in the user's folder, if the source is "cache".
  void keep(tune::Profile profile, const std::string& source);
  /// Undoes keep(), for calls contradict what was measured.
  void forget(const tune::Profile& profile, const std::string& source);

private:
  bool verbose_;
  std::string site_folder_;
  std::mutex mutex_;
  std::map<std::string, Found> found_;            ///< by source and the name of the file for these hosts
  std::map<std::string, tune::Profile> measured_; ///< by the same name: to be written
};

} // namespace strata::comm
