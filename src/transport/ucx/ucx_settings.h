// SPDX-License-Identifier: BSD-3-Clause
// How UCX is told what strata needs, without touching the environment, the program's signals or its output.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <ucp/api/ucp.h>
#include <vector>

namespace strata::transport {

/// A configuration for ucp_init(), to be released with ucp_config_release().
struct UcxSettings {
  ucp_config_t* config = nullptr;
  std::size_t eager_limit = 0; ///< as Transport::eager_limit()
  /// Bytes from which on UCX takes rendezvous for likely the better: what it says, or a guess; SIZE_MAX: never.
  std::size_t least_rendezvous = SIZE_MAX;
  std::string net_devices; ///< UCX_NET_DEVICES, the user's or "all"
};

/// Reads UCX's own configuration (its UCX_ variables and files count) and completes it where the user said nothing.
Result<UcxSettings> read_ucx_settings();

/// The devices of a context that lead to other machines, each once: "mlx5_0:1", "eth0". Nothing where this release of
/// UCX does not print what is understood here.
std::optional<std::vector<std::string>> network_devices(ucp_context_h context);

/// "UCX cannot `what`: …"
Error ucx_error(const char* what, ucs_status_t status);

/// While it lives, UCX's warnings and errors on this thread are not printed: strata reports failures itself. A user
/// who asked UCX for a more talkative level gets everything.
class QuietUcx {
public:
  QuietUcx();
  QuietUcx(const QuietUcx&) = delete;
  QuietUcx& operator=(const QuietUcx&) = delete;
  ~QuietUcx();
};

} // namespace strata::transport
