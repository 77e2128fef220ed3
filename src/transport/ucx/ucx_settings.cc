// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_settings.h"

#include "base/options.h"
#include "base/text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <pthread.h>
#include <sstream>
#include <string>
#include <string_view>
#if __has_include(<ucs/config/global_opts.h>)
#include <ucs/config/global_opts.h>
#define STRATA_UCX_GLOBAL_OPTIONS 1
#endif
#if __has_include(<ucs/debug/log_def.h>)
#include <ucs/debug/log_def.h>
#define STRATA_UCX_LOG_HANDLERS 1
#endif

namespace strata::transport {
namespace {

// Over TCP a rendezvous only adds a round trip: there is no copy to be saved. It costs 1.4 to 2.5 times as much as
// sending at once, so messages below this size are sent at once, which is more than strata's usual slices.
constexpr std::size_t tcp_eager_limit = 256 * 1024;

// Where UCX decides by itself, from what it knows of the device: over RDMA mostly at some KiB.
constexpr std::size_t likely_rendezvous = 16 * 1024;

/// What `print` writes into a stream; empty where there is no memory for it.
template <typename Print>
std::string printed(const Print& print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) return {};
  print(stream);
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);
  return result;
}

std::string value_of(const std::string& configuration, const std::string& name) {
  const std::string key = "UCX_" + name + "=";
  std::size_t begin = configuration.starts_with(key) ? 0 : configuration.find("\n" + key);
  if (begin == std::string::npos) return {};
  begin = configuration.find('=', begin) + 1;
  return configuration.substr(begin, configuration.find('\n', begin) - begin);
}

bool has_rdma_device() {
  std::error_code ignored;
  const std::filesystem::path devices = "/sys/class/infiniband";
  return std::filesystem::exists(devices, ignored) && !std::filesystem::is_empty(devices, ignored);
}

/// Without an RDMA device UCX's modules for them, and the libraries that these need, do nothing but take a third of the
/// time that UCX takes to start. UCX loads modules once, for all that use it in this process: the MPI library, if it
/// comes later, goes without them, too, and would have found no device with them. What is set in UCX_MODULES goes
/// before, but for "all", which is its default. UCX before 1.12 has no such option.
void leave_out_idle_modules() {
#ifdef STRATA_UCX_GLOBAL_OPTIONS
  char modules[16] = {};
  if (has_rdma_device() || ucs_global_opts_get_value("MODULES", modules, sizeof modules) != UCS_OK) return;
  if (std::string_view(modules) == "all") static_cast<void>(ucs_global_opts_set_value("MODULES", "^ib,rdmacm"));
#endif
}

/// Whether only TCP can lead out of this node: no RDMA device, or the user allows none of its transports.
bool only_tcp(const std::string& configuration) {
  if (!has_rdma_device()) return true;
  const std::string transports = "," + value_of(configuration, "TLS");
  if (transports.find("all") != std::string::npos || transports.find('^') != std::string::npos) return false;
  for (const char* rdma : {",rc", ",dc", ",ud", ",ib", ",srd", ",gga"})
    if (transports.find(rdma) != std::string::npos) return false;
  return true;
}

#ifdef STRATA_UCX_LOG_HANDLERS
// The transport's lock may be held by one thread while the MPI library uses UCX on another: quiet is per thread.
thread_local int quiet_depth = 0;

ucs_log_func_rc_t drop_when_quiet(const char*, unsigned, const char*, ucs_log_level_t level,
                                  const ucs_log_component_config_t*, const char*, va_list) {
  const bool complaint = level == UCS_LOG_LEVEL_ERROR || level == UCS_LOG_LEVEL_WARN;
  return complaint && quiet_depth > 0 ? UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

// The handler is never removed: others may have been put on top of it. This module stays loaded.
void install_log_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (ucs_global_opts.log_component.log_level <= UCS_LOG_LEVEL_WARN) ucs_log_push_handler(drop_when_quiet);
  });
}
#endif

} // namespace

Result<UcxSettings> read_ucx_settings() {
  leave_out_idle_modules();
  UcxSettings settings;
  if (const ucs_status_t status = ucp_config_read(nullptr, nullptr, &settings.config); status != UCS_OK)
    return Error{ErrorKind::unsupported,
                 std::string("UCX cannot read its configuration: ") + ucs_status_string(status)};

  // A line for each: NAME=VALUE, names with their prefix UCX_.
  const std::string configuration =
      printed([&](std::FILE* stream) { ucp_config_print(settings.config, stream, nullptr, UCS_CONFIG_PRINT_CONFIG); });
  settings.net_devices = value_of(configuration, "NET_DEVICES");
  const std::string threshold = value_of(configuration, "RNDV_THRESH");
  if (threshold.find("auto") == std::string::npos && !threshold.empty()) {
    // The user's. "inf" is never; of "intra:64K,inter:1M" the last number is the one between nodes.
    std::string number = threshold.substr(threshold.find_last_of(":,") + 1);
    if (number.ends_with('B') || number.ends_with('b')) number.pop_back();
    const auto bytes = parse_bytes(number);
    settings.eager_limit = bytes ? static_cast<std::size_t>(*bytes) : 0;
    if (bytes) settings.least_rendezvous = std::max<std::size_t>(1, settings.eager_limit);
  } else if (only_tcp(configuration)) {
    const std::string wanted = std::to_string(tcp_eager_limit);
    if (ucp_config_modify(settings.config, "RNDV_THRESH", wanted.c_str()) == UCS_OK)
      settings.eager_limit = settings.least_rendezvous = tcp_eager_limit;
  } else {
    settings.least_rendezvous = likely_rendezvous;
  }
#if UCP_API_VERSION >= UCP_VERSION(1, 12)
  // Shared memory is strata's own, and UCX would not start without room in /dev/shm. Its older releases know no '^'.
  if (value_of(configuration, "TLS") == "all") static_cast<void>(ucp_config_modify(settings.config, "TLS", "^sm"));
#endif
  // A flush of the worker then asks the network devices and not each endpoint: see ucx_transport.h.
  static_cast<void>(ucp_config_modify(settings.config, "FLUSH_WORKER_EPS", "n"));
  return settings;
}

// UCX has no function that tells; but it prints what it uses, a line for each: "# resource 1 : … flags -- tcp/eth0".
std::optional<std::vector<std::string>> network_devices(ucp_context_h context) {
  std::istringstream text(printed([&](std::FILE* stream) { ucp_context_print_info(context, stream); }));
  bool has_any = false;
  std::vector<std::string> names;
  for (std::string line; std::getline(text, line);) {
    const std::size_t slash = line.rfind('/');
    if (line.find(" resource ") == std::string::npos || slash == std::string::npos) continue;
    has_any = true;
    const std::string_view device = trim(std::string_view(line).substr(slash + 1));
    const auto is_one_of_these = [&](const char* begin) { return device.starts_with(begin); };
    constexpr const char* inside_the_node[] = {"memory", "cuda", "rocm", "ze", "gaudi"};
    if (std::any_of(std::begin(inside_the_node), std::end(inside_the_node), is_one_of_these)) continue;
    // Once for each transport that goes through it.
    if (std::find(names.begin(), names.end(), device) == names.end()) names.emplace_back(device);
  }
  if (!has_any) return std::nullopt;
  return names;
}

Error ucx_error(const char* what, ucs_status_t status) {
  return {status == UCS_ERR_NO_MEMORY ? ErrorKind::resource : ErrorKind::unsupported,
          std::string("UCX cannot ") + what + ": " + ucs_status_string(status)};
}

#ifdef STRATA_UCX_LOG_HANDLERS
QuietUcx::QuietUcx() {
  install_log_handler();
  ++quiet_depth;
}
QuietUcx::~QuietUcx() { --quiet_depth; }
#else
QuietUcx::QuietUcx() = default;
QuietUcx::~QuietUcx() = default;
#endif

} // namespace strata::transport
