// SPDX-License-Identifier: BSD-3-Clause
#include "tune/profile_cache.h"

#include "base/private_folder.h"
#include "base/quantity.h"
#include "base/text_file.h"
#include "tune/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace strata::tune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_site_files = 256; ///< looked at in one folder
constexpr std::int64_t clock_skew = 3600;    ///< seconds by which the clock that measured may be ahead
constexpr std::string_view suffix = ".profile";

std::vector<std::string> sorted_once(std::span<const std::string> hosts) {
  std::vector<std::string> sorted(hosts.begin(), hosts.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

/// FNV-1a (Fowler, Noll and Vo), 64 bits.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// `text` as a part of a file name.
std::string readable(std::string_view text) {
  constexpr std::size_t most = 32;
  std::string part(text.substr(0, most));
  std::replace_if(
      part.begin(), part.end(), [](char c) { return !is_host_name(std::string_view(&c, 1)) || c == '.'; }, '_');
  return part;
}

/// Empty, or why a profile of the user's is of no use.
std::string trouble_with(const Profile& profile, std::span<const std::string> hosts, const std::string& transport,
                         const Freshness& freshness) {
  if (profile.transport != transport ||
      !std::equal(hosts.begin(), hosts.end(), profile.hosts.begin(), profile.hosts.end()))
    return fmt::format("is of other hosts or another transport than its name says ({} hosts over {})",
                       profile.hosts.size(), profile.transport);
  if (profile.measured > freshness.now && profile.measured - freshness.now > clock_skew)
    return fmt::format("was measured in the future ({}; it is {})", time_text(profile.measured),
                       time_text(freshness.now));
  if (profile.measured < freshness.now && freshness.now - profile.measured > freshness.most_age)
    return fmt::format("is too old: measured {}, {} s ago ({} s at most)", time_text(profile.measured),
                       freshness.now - profile.measured, freshness.most_age);
  return "";
}

void look_at_user(FoundProfile& found, const std::string& folder, std::span<const std::string> hosts,
                  const std::string& transport, const Freshness& freshness) {
  const std::string name = profile_file_name(hosts, transport);
  const auto text = read_private(folder, name, most_profile_bytes);
  if (!text) return found.notes.push_back(text.error().message);
  if (!*text) return;
  std::string path = folder + "/" + name;
  auto profile = profile_from(**text, path);
  if (!profile) return found.notes.push_back(profile.error().message);
  if (const std::string trouble = trouble_with(*profile, hosts, transport, freshness); !trouble.empty())
    return found.notes.push_back(fmt::format("{} {}", path, trouble));
  found.profile = std::move(*profile);
  found.path = std::move(path);
}

/// The names of the profiles of a folder, sorted. None when it cannot be read, or when anybody may write to it.
std::vector<std::string> site_files(const std::string& folder, std::vector<std::string>& notes) {
  std::error_code trouble;
  const fs::file_status status = fs::status(folder, trouble);
  if (!fs::is_directory(status)) return {};
  std::vector<std::string> names;
  if ((status.permissions() & fs::perms::others_write) != fs::perms::none) {
    notes.push_back(fmt::format("{} may be written by anybody, and is not read", folder));
    return names;
  }
  for (fs::directory_iterator entry(folder, trouble); !trouble && entry != fs::directory_iterator();
       entry.increment(trouble))
    if (std::string name = entry->path().filename(); name.ends_with(suffix) && !name.starts_with('.'))
      names.push_back(std::move(name));
  if (trouble) notes.push_back(fmt::format("cannot read folder {}: {}", folder, trouble.message()));
  std::sort(names.begin(), names.end());
  if (names.size() > most_site_files) {
    notes.push_back(fmt::format("{} has {} profiles; only the first {} by name are looked at", folder, names.size(),
                                most_site_files));
    names.resize(most_site_files);
  }
  return names;
}

Result<Profile> read_site_file(const std::string& path) {
  const auto text = text_of_file(path, most_profile_bytes);
  if (!text) return Error{ErrorKind::resource, fmt::format("cannot read {}: {}", path, text.error().message)};
  return profile_from(*text, path);
}

void look_at_site(FoundProfile& found, const std::string& folder, std::span<const std::string> hosts,
                  const std::string& transport) {
  for (const std::string& name : site_files(folder, found.notes)) {
    std::string path = folder + "/" + name;
    auto profile = read_site_file(path);
    if (!profile) {
      found.notes.push_back(profile.error().message);
    } else if (profile->transport == transport &&
               std::includes(profile->hosts.begin(), profile->hosts.end(), hosts.begin(), hosts.end())) {
      found.profile = std::move(*profile);
      found.path = std::move(path);
      found.of_site = true;
      return;
    }
  }
}

} // namespace

std::string profile_file_name(std::span<const std::string> hosts, const std::string& transport) {
  const std::vector<std::string> sorted = sorted_once(hosts);
  std::string all;
  for (const std::string& host : sorted)
    all += host + '\n'; // No name has one: no two sets look alike.
  return fmt::format("{}-{}-hosts-{}-{:016x}{}", readable(sorted.empty() ? "" : sorted.front()), sorted.size(),
                     readable(transport), hash_of(all + transport), suffix);
}

FoundProfile find_profile(const ProfileFolders& folders, std::span<const std::string> hosts,
                          const std::string& transport, const Freshness& freshness) {
  const std::vector<std::string> sorted = sorted_once(hosts);
  FoundProfile found;
  if (!folders.of_user.empty()) look_at_user(found, folders.of_user, sorted, transport, freshness);
  for (const std::string& folder : folders.of_site)
    if (!found.profile) look_at_site(found, folder, sorted, transport);
  return found;
}

Result<std::string> store_profile(const std::string& user_folder, const Profile& profile) {
  if (auto status = check(profile); !status) return status.error();
  const std::string name = profile_file_name(profile.hosts, profile.transport);
  if (auto status = replace_private(user_folder, name, to_text(profile)); !status) return status.error();
  return user_folder + "/" + name;
}

} // namespace strata::tune
