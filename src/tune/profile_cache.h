// SPDX-License-Identifier: BSD-3-Clause
// Where profiles are kept, so that a job need not measure what another one has: in a folder of the user's, a file for
// each set of hosts and transport, and in folders of the site's, where an administrator puts profiles of the whole
// machine, or of parts of it, in files of any name that ends in ".profile".
#pragma once

#include "tune/profile.h"

#include <limits>
#include <optional>

namespace strata::tune {

struct ProfileFolders {
  std::string of_user;              ///< searched first, and written; empty: none. See cache_folder() of base/options.h
  std::vector<std::string> of_site; ///< only read, in this order
};

/// Which of the user's profiles are still good. Those of the site are good until the administrator replaces them.
struct Freshness {
  std::int64_t now = 0;                                             ///< seconds since the epoch
  std::int64_t most_age = std::numeric_limits<std::int64_t>::max(); ///< seconds
};

struct FoundProfile {
  std::optional<Profile> profile;
  std::string path;               ///< of the file that it came from
  bool of_site = false;           ///< that file is in a folder of the site
  std::vector<std::string> notes; ///< a line for each file that was there and could not be used, and why
};

/// The profile of exactly these hosts (in any order) in the user's folder, or the first one in the site's folders, by
/// name, that has all of them; in both measured over that transport. None is no error; a broken or an old one is
/// noted, and as if it were not there.
FoundProfile find_profile(const ProfileFolders& folders, std::span<const std::string> hosts,
                          const std::string& transport, const Freshness& freshness);

/// Keeps a profile in the user's folder, at once, for all who look, in place of an earlier one. Refuses a profile that
/// could not be read back. See replace_private() of base/private_folder.h. \return the path
Result<std::string> store_profile(const std::string& user_folder, const Profile& profile);

/// "n1-4-hosts-ucx-0123456789abcdef.profile": the first host, their number, the transport, and a hash of all.
std::string profile_file_name(std::span<const std::string> hosts, const std::string& transport);

} // namespace strata::tune
