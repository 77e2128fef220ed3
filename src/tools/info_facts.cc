// SPDX-License-Identifier: BSD-3-Clause
// What strata-info can tell without a job: the build, and what works on this machine.
#include "base/module.h"
#include "comm/transports.h"
#include "device/loader.h"
#include "tools/info.h"
#include "tools/run_environment.h"
#include "topo/local_facts.h"

#include "config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace strata::tools {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

#ifdef __clang__
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "gcc " __VERSION__;
#endif

json build_facts() {
  json facts = {{"compiler", compiler}, {"libraries", json::array()}, {"site_profiles", STRATA_SITE_PROFILES}};
#ifdef HAVE_HIGHWAY
  facts["libraries"].push_back("highway");
#endif
#ifdef HAVE_UCX
  facts["libraries"].push_back("ucx");
#endif
#ifdef HAVE_HWLOC
  facts["libraries"].push_back("hwloc");
#endif
#ifdef HAVE_PUGIXML
  facts["libraries"].push_back("pugixml");
#endif
#ifdef HAVE_MPI
  facts["mpi"] = STRATA_MPI_SONAME;
#else
  facts["mpi"] = nullptr;
#endif
  return facts;
}

std::string module_file(const std::vector<std::string>& folders, const std::string& name) {
  for (const std::string& folder : folders) {
    std::error_code trouble;
    if (fs::exists(folder + "/" + name, trouble)) return folder + "/" + name;
  }
  return {};
}

/// The modules that enter an MPI library: mpi-<soname>.so.
std::vector<std::string> mpi_modules(const std::vector<std::string>& folders) {
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    std::error_code trouble;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, trouble))
      if (entry.path().filename().string().starts_with("mpi-")) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

json module_facts(const std::vector<std::string>& folders) {
  json modules = json::array();
  const auto add = [&](const std::string& name, const std::string& purpose, const std::string& path) {
    modules.push_back({{"name", name}, {"purpose", purpose}, {"path", path.empty() ? json(nullptr) : json(path)}});
  };
  add("kernel", "vectorised reductions", module_file(folders, "kernel.so"));
  add("hwloc", "topology of the machine", module_file(folders, "hwloc.so"));
  add("ucx", "transport between nodes", module_file(folders, "ucx.so"));
  add("cuda", "buffers in GPU memory", module_file(folders, "cuda.so"));
  for (const std::string& path : mpi_modules(folders)) {
    const std::string file = fs::path(path).filename().string();
    add("mpi", "for " + file.substr(4, file.size() - 7), path);
  }
  return modules;
}

json transport_row(const std::string& name, bool usable, const std::string& remark) {
  return {{"name", name}, {"usable", usable}, {"remark", remark}};
}

std::string remark_on(const transport::Transport& transport) {
  const std::string kinds = transport.memory_kinds();
  std::string remark = kinds.empty() ? std::string() : "memory of: " + kinds;
  if (const std::size_t limit = transport.eager_limit(); limit != 0)
    remark +=
        fmt::format("{}messages of {} and more need a handshake", remark.empty() ? "" : "; ", format_bytes(limit));
  return remark;
}

json transport_facts(comm::Process& process, const std::vector<std::string>& folders) {
  json rows = json::array();
  Error no_memory;
  const bool shared = process.shared_memory(&no_memory) != nullptr;
  rows.push_back(
      transport_row("shm", shared, shared ? "between ranks that can map each other's memory" : no_memory.message));
  std::string why_not;
  for (const std::string& name : process.between_nodes_names()) {
    const transport::Transport* transport = process.between_nodes(name, &why_not);
    rows.push_back(transport_row(name, transport != nullptr, transport != nullptr ? remark_on(*transport) : why_not));
  }
  const bool module = !mpi_modules(folders).empty();
  rows.push_back(transport_row("mpi", module,
                               module ? "in MPI programs only; where all ranks are on one machine, only without shm in "
                                        "STRATA_TRANSPORTS"
                                      : "this installation has no module for an MPI library"));
  return rows;
}

/// The nearest network devices; null where hwloc cannot say.
json networks_facts(const Options& options, const std::string& pci_address) {
  const auto near = topo::networks_near(options, pci_address);
  return near ? json(*near) : json(nullptr);
}

/// The accelerators of the machine, and which of them reach each other's memory. strata-info is the program here, and
/// so it may initialise them.
json device_facts(const Options& options) {
  json facts = {{"driver", nullptr}, {"why_not", nullptr}, {"devices", json::array()}};
  const auto driver = device::open_driver(options);
  const Status ready = driver ? (*driver)->initialise() : Status(driver.error());
  if (!ready) {
    facts["why_not"] = ready.error().message;
    return facts;
  }
  facts["driver"] = (*driver)->name();
  const std::int32_t devices = (*driver)->devices();
  for (std::int32_t device = 0; device < devices; ++device) {
    const auto known = (*driver)->facts(device);
    if (!known) {
      facts["devices"].push_back({{"trouble", known.error().message}});
      continue;
    }
    const std::int32_t links = (*driver)->links(device);
    json reached = json::array();
    for (std::int32_t peer = 0; peer < devices; ++peer)
      if (const auto reaches = (*driver)->reaches(device, peer); peer != device && reaches && *reaches)
        reached.push_back(peer);
    facts["devices"].push_back({{"name", known->name},
                                {"pci_address", known->pci_address},
                                {"bytes", known->bytes},
                                {"numa", known->numa >= 0 ? json(known->numa) : json(nullptr)},
                                {"links", links >= 0 ? json(links) : json(nullptr)},
                                {"networks", networks_facts(options, known->pci_address)},
                                {"reaches", reached}});
  }
  return facts;
}

json option_facts(const Options& options) {
  json rows = json::array();
  for (const OptionRow& row : option_table())
    rows.push_back({{"name", std::string("STRATA_") + row.name},
                    {"value", row.get(options)},
                    {"default", row.initial},
                    {"origin", option_origin(row)},
                    {"allowed", row.allowed},
                    {"scope", row.scope == Scope::agreed ? "agreed" : "local"},
                    {"text", row.text}});
  return rows;
}

} // namespace

json installation_facts() {
  std::vector<std::string> complaints;
  Options options = options_from_environment(complaints);
  const json rows = option_facts(options);
  // A tool may lie where the library's own search would not find the modules.
  std::vector<std::string> folders = module_folders(options);
  if (options.module_path.empty())
    for (const std::string& folder : library_folders())
      if (std::error_code trouble; fs::is_directory(folder + "/strata", trouble)) {
        options.module_path = folder + "/strata";
        folders = {options.module_path};
        break;
      }
  const auto library = preload_library();
  comm::Process process(options, transport::shm::Backing::memfd, comm::transports_between_nodes());
  return {{"version", PACKAGE_VERSION},
          {"build", build_facts()},
          {"preload", library ? json(*library) : json(nullptr)},
          {"modules", module_facts(folders)},
          {"kernels", process.kernels().instruction_set},
          {"machine",
           {{"text", process.facts().machine},
            {"usable_cores", cores_together({&process.facts().cores, 1})},
            {"trouble", process.facts().trouble}}},
          {"transports", transport_facts(process, folders)},
          {"accelerators", device_facts(options)},
          {"options", rows},
          {"complaints", complaints},
          {"job", nullptr}};
}

} // namespace strata::tools
