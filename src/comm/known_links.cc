// SPDX-License-Identifier: BSD-3-Clause
#include "comm/known_links.h"

#include "base/log.h"
#include "base/options.h"
#include "base/text_file.h"
#include "tune/profile_cache.h"

#include "config.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace strata::comm {
namespace {

/// Machines are rewired, and a measurement may have met a bad day.
constexpr std::int64_t most_age = 7 * 24 * 3600;

using Found = KnownLinks::Found;

Found from_cache(const std::string& site_folder, const std::vector<std::string>& hosts, const std::string& transport) {
  const tune::ProfileFolders folders{cache_folder(), {site_folder}};
  tune::FoundProfile found = tune::find_profile(folders, hosts, transport, {std::time(nullptr), most_age});
  Found result;
  result.notes = std::move(found.notes);
  if (!found.profile) return result;
  result.known = {to_text(narrowed_to(*found.profile, hosts)), found.of_site ? Origin::site : Origin::earlier_job,
                  found.path};
  result.notes.push_back(fmt::format("links between {} hosts as measured before: {}", hosts.size(), found.path));
  return result;
}

Found from_file(const std::string& source, const std::vector<std::string>& hosts, const std::string& transport) {
  Found result;
  const auto refused = [&](const std::string& why) {
    result.complaint = fmt::format("STRATA_PROFILE={} is not used: {}", source, why);
    return result;
  };
  const auto text = text_of_file(source, tune::most_profile_bytes);
  if (!text) return refused(text.error().message);
  const auto profile = tune::profile_from(*text, source);
  if (!profile) return refused(profile.error().message);
  for (const std::string& host : hosts)
    if (!std::binary_search(profile->hosts.begin(), profile->hosts.end(), host))
      return refused(fmt::format("it says nothing of host {}", host));
  if (profile->transport != transport)
    result.notes.push_back(
        fmt::format("{} was measured over {}, and this job uses {}", source, profile->transport, transport));
  result.known = {to_text(narrowed_to(*profile, hosts)), Origin::file, source};
  return result;
}

/// Of what is known.
std::string name_of(const std::string& source, const std::vector<std::string>& hosts, const std::string& transport) {
  return fmt::format("{} {}", source, tune::profile_file_name(hosts, transport));
}

} // namespace

const char* to_text(Origin origin) {
  switch (origin) {
  case Origin::none:
    return "none";
  case Origin::this_job:
    return "this job";
  case Origin::earlier_job:
    return "an earlier job";
  case Origin::site:
    return "the site";
  case Origin::file:
    return "a file";
  }
  return "?";
}

std::string site_profile_folder() { return STRATA_SITE_PROFILES; }

KnownLinks::~KnownLinks() {
  for (const auto& [name, profile] : measured_)
    if (const auto stored = tune::store_profile(cache_folder(), profile); !stored && verbose_)
      log_line("what was measured of the links is not kept: " + stored.error().message);
}

KnownLinks::Found KnownLinks::find(const std::string& source, const std::vector<std::string>& hosts,
                                   const std::string& transport) {
  if (source == "none") return {};
  const std::string name = name_of(source, hosts, transport);
  const std::lock_guard lock(mutex_);
  if (const auto known = found_.find(name); known != found_.end()) return known->second;
  Found found = source == "cache" ? from_cache(site_folder_, hosts, transport) : from_file(source, hosts, transport);
  return found_.emplace(name, std::move(found)).first->second;
}

void KnownLinks::keep(tune::Profile profile, const std::string& source) {
  const std::string name = name_of(source, profile.hosts, profile.transport);
  const std::lock_guard lock(mutex_);
  found_[name] = {{to_text(profile), Origin::this_job, {}}, {}, {}};
  if (source == "cache") measured_.insert_or_assign(name, std::move(profile));
}

void KnownLinks::forget(const tune::Profile& profile, const std::string& source) {
  const std::string name = name_of(source, profile.hosts, profile.transport);
  const std::lock_guard lock(mutex_);
  found_.erase(name);
  measured_.erase(name);
}

} // namespace strata::comm
