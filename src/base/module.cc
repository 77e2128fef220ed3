// SPDX-License-Identifier: BSD-3-Clause
#include "base/module.h"

#include <fmt/format.h>

#include <cinttypes>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <dlfcn.h>
#include <unistd.h>

namespace strata {

namespace {

/// The file mapped at `address`. Not from dladdr at first: it repeats the name that the object was opened by, which is
/// relative to a working directory that may have changed since, and for a program is whatever argv[0] says.
std::string file_at(std::uintptr_t address) {
  if (const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose); maps) {
    char line[PATH_MAX + 128];
    while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
      std::uintptr_t begin = 0, end = 0;
      if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2 || address < begin || address >= end) continue;
      const std::string_view text(line);
      const auto path = text.find('/');
      if (path == std::string_view::npos) break;
      return std::string(text.substr(path, text.find('\n') - path));
    }
  }
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(address), &found) == 0 || found.dli_fname == nullptr) return {};
  return found.dli_fname;
}

/// The file that this code was linked into, free of symbolic links.
const std::string& own_file() {
  static const char here = 0;
  // Never destroyed: exit handlers may still open a module.
  static const auto& file = *new std::string([] {
    const std::string mapped = file_at(reinterpret_cast<std::uintptr_t>(&here));
    const std::unique_ptr<char, void (*)(void*)> real(realpath(mapped.c_str(), nullptr), std::free);
    return real ? std::string(real.get()) : mapped;
  }());
  return file;
}

/// dlerror's text without the path that it begins with.
std::string loader_reason(const std::string& path) {
  const char* text = dlerror();
  if (text == nullptr) return "no reason given";
  std::string_view reason(text);
  if (reason.starts_with(path + ": ")) reason.remove_prefix(path.size() + 2);
  return std::string(reason);
}

} // namespace

std::vector<std::string> module_folders_beside(const std::string& object) {
  const auto slash = object.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : object.substr(0, slash);
  const std::string last = folder.substr(folder.rfind('/') + 1);
  if (last == "strata") return {folder};
  if (last == "bin") return {folder + "/strata", folder + "/../lib/strata", folder + "/../lib64/strata"};
  return {folder + "/strata"};
}

std::vector<std::string> module_folders(const Options& options) {
  if (!options.module_path.empty()) return {options.module_path};
  return module_folders_beside(own_file());
}

Result<void*> open_module_symbol(const Options& options, const char* module, const char* symbol) {
  const auto folders = module_folders(options);
  std::string path;
  for (const std::string& folder : folders) {
    path = fmt::format("{}/{}.so", folder, module);
    if (access(path.c_str(), F_OK) == 0) break;
    path.clear();
  }
  if (path.empty())
    return Error{ErrorKind::unsupported, fmt::format("module {}.so is not in {}", module, fmt::join(folders, ", "))};
  void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr)
    return Error{ErrorKind::unsupported, fmt::format("cannot open module {}: {}", path, loader_reason(path))};
  void* const address = dlsym(object, symbol);
  if (address == nullptr)
    return Error{ErrorKind::unsupported,
                 fmt::format("module {} has no {}: it is of another version of strata", path, symbol)};
  return address;
}

} // namespace strata
