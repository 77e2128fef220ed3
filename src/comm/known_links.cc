// SPDX-License-Identifier: BSD-3-Clause
#include "comm/known_links.h"

#include "base/options.h"
#include "tune/profile_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>

namespace strata::comm {
namespace {

/// Machines are rewired, and a measurement may have met a bad day.
constexpr std::int64_t most_age = 7 * 24 * 3600;
constexpr std::streamoff most_file_bytes = 64 << 20;

tune::ProfileFolders folders() { return {cache_folder(), {}}; }

} // namespace

KnownLinks::~KnownLinks() {
  if (source_ != "cache") return;
  for (const auto& [name, profile] : measured_)
    (void)tune::store_profile(folders().of_user, profile); // a job without a home is none the worse for it
}

KnownLinks::Found KnownLinks::find(const std::vector<std::string>& hosts, const std::string& transport) {
  if (source_ == "none") return {};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = measured_.find(tune::profile_file_name(hosts, transport)); known != measured_.end())
      return {to_text(known->second), {}, {}};
  }
  if (source_ != "cache") return from_file(hosts);
  tune::FoundProfile found = tune::find_profile(folders(), hosts, transport, {std::time(nullptr), most_age});
  Found result;
  result.notes = std::move(found.notes);
  if (!found.profile) return result;
  result.text = to_text(*found.profile);
  result.notes.push_back(fmt::format("links between {} hosts as measured before: {}", hosts.size(), found.path));
  return result;
}

KnownLinks::Found KnownLinks::from_file(const std::vector<std::string>& hosts) const {
  const auto refused = [&](const std::string& why) {
    Found result;
    result.complaint = fmt::format("STRATA_PROFILE={} is not used: {}", source_, why);
    return result;
  };
  std::ifstream file(source_, std::ios::binary | std::ios::ate);
  if (!file) return refused("it cannot be read");
  if (file.tellg() > most_file_bytes) return refused("it is larger than 64 MiB");
  file.seekg(0);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto profile = tune::profile_from(text, source_);
  if (!profile) return refused(profile.error().message);
  for (const std::string& host : hosts)
    if (!std::binary_search(profile->hosts.begin(), profile->hosts.end(), host))
      return refused(fmt::format("it says nothing of host {}", host));
  return {to_text(*profile), {}, {}};
}

void KnownLinks::keep(tune::Profile profile) {
  const std::lock_guard lock(mutex_);
  const std::string name = tune::profile_file_name(profile.hosts, profile.transport);
  measured_.insert_or_assign(name, std::move(profile));
}

} // namespace strata::comm
