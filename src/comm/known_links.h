// SPDX-License-Identifier: BSD-3-Clause
// What this process knows of the links between hosts: profiles that its own contexts measured, and those that earlier
// jobs or an administrator left in files.
#pragma once

#include "tune/profile.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace strata::comm {

class KnownLinks {
public:
  /// `source` is the option PROFILE: "cache", "none" or the path of a file.
  explicit KnownLinks(std::string source) : source_(std::move(source)) {}
  /// Writes what was measured here to the user's folder of profiles.
  ~KnownLinks();
  KnownLinks(const KnownLinks&) = delete;
  KnownLinks& operator=(const KnownLinks&) = delete;

  struct Found {
    std::string text;               ///< of a profile; empty: none
    std::vector<std::string> notes; ///< for a user who asked
    std::string complaint;          ///< for the user in any case: the file that was asked for is not used
  };
  Found find(const std::vector<std::string>& hosts, const std::string& transport);
  /// Keeps a profile for later contexts of this process, and for the end of it.
  void keep(tune::Profile profile);

private:
  Found from_file(const std::vector<std::string>& hosts) const;

  std::string source_;
  std::mutex mutex_;
  std::map<std::string, tune::Profile> measured_; ///< by the name of its file
};

} // namespace strata::comm
