// SPDX-License-Identifier: BSD-3-Clause
#include "tools/run_environment.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <unistd.h>

namespace strata::tools {
namespace {

namespace fs = std::filesystem;

struct LauncherVariable {
  const char* name;
  Family family;
};
// The number of this rank, as launchers pass it on.
constexpr LauncherVariable rank_variables[] = {
    {"OMPI_COMM_WORLD_RANK", Family::openmpi},
    {"PMI_RANK", Family::mpich},
    {"MV2_COMM_WORLD_RANK", Family::mpich},
    {"PMIX_RANK", Family::unknown},
};

/// Whether a library of that soname is the family's: the MPICH ABI is libmpi.so.12, Debian's MPICH libmpich.so.12.
bool belongs(std::string_view soname, Family family) {
  const bool mpich = soname.find("mpich") != std::string_view::npos || soname.ends_with(".so.12");
  return family == Family::unknown || mpich == (family == Family::mpich);
}

/// Programs of that name in a folder, in the order of their names.
std::vector<std::string> programs_in(const std::string& folder, const std::string& begin) {
  std::vector<std::string> found;
  std::error_code trouble;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, trouble))
    if (entry.path().filename().string().starts_with(begin)) found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace

Launch launch() {
  Launch told;
  for (const LauncherVariable& variable : rank_variables) {
    const char* value = std::getenv(variable.name);
    if (value == nullptr) continue;
    told.launched = true;
    told.family = variable.family;
    if (const auto rank = parse_number(value); rank && *rank < 1U << 30) told.rank = static_cast<int>(*rank);
    return told;
  }
  return told;
}

std::string program_folder() {
  std::error_code trouble;
  const fs::path program = fs::read_symlink("/proc/self/exe", trouble);
  return trouble ? std::string() : program.parent_path().string();
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  };
  if (const fs::path own = program_folder(); !own.empty()) {
    for (const char* name : {"lib", "lib64"})
      add((own.parent_path() / name).string());
    if (own.filename() == "strata") add(own.parent_path().string());
  }
  add(STRATA_LIBDIR);
  return folders;
}

Result<std::string> preload_library() {
  std::string searched;
  for (const std::string& folder : library_folders()) {
    const std::string path = folder + "/libstrata-mpi.so";
    std::error_code trouble;
    if (fs::exists(path, trouble)) return path;
    searched += (searched.empty() ? "" : ", ") + folder;
  }
  return Error{ErrorKind::unsupported, fmt::format("there is no libstrata-mpi.so in {}", searched)};
}

void preload(const std::string& library) {
  const char* before = std::getenv("LD_PRELOAD");
  const std::string value = before != nullptr && *before != '\0' ? library + ":" + before : library;
  setenv("LD_PRELOAD", value.c_str(), 1);
}

void set_option(const std::string& name, const std::string& value) {
  setenv(("STRATA_" + name).c_str(), value.c_str(), 1);
}

bool option_is_set(const std::string& name) {
  const char* value = std::getenv(("STRATA_" + name).c_str());
  return value != nullptr && *value != '\0';
}

Result<std::string> mpi_program(const std::string& tool) {
  const Family family = launch().family;
  std::vector<std::string> all;
  for (const std::string& folder : library_folders())
    for (const std::string& program : programs_in(folder + "/strata", tool + "-"))
      all.push_back(program);
  const auto own = std::find_if(all.begin(), all.end(), [&](const std::string& path) {
    return belongs(fs::path(path).filename().string().substr(tool.size() + 1), family);
  });
  if (own != all.end()) return *own;
  if (all.empty()) return Error{ErrorKind::unsupported, "this installation was built without an MPI library"};
  return Error{ErrorKind::unsupported,
               fmt::format("this installation has no program for the MPI library whose launcher "
                           "started it, only {}",
                           fmt::join(all, ", "))};
}

Error start(const std::string& program, char** arguments) {
  execvp(program.c_str(), arguments);
  const int reason = errno;
  return {reason == ENOENT ? ErrorKind::argument : ErrorKind::resource,
          fmt::format("cannot start {}: {}", printable(program), std::strerror(reason))};
}

} // namespace strata::tools
