// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx_loader.h"

#include "base/address_space.h"
#include "base/module.h"

#include <array>
#include <csignal>
#include <cstring>

namespace strata::transport {
namespace {

// libucs installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGHUP when it is loaded, which would take a crash
// from the program's own handlers or from its debugger. This is done here and not in the module, because loading the
// module already loads libucs. Where the MPI library had loaded libucs before, nothing changes and nothing is restored.
class SignalDispositions {
public:
  SignalDispositions() {
    for (int signal = 1; signal < NSIG; ++signal)
      known_[place(signal)] = sigaction(signal, nullptr, &saved_[place(signal)]) == 0;
  }
  void restore() const {
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction now {};
      if (!known_[place(signal)] || sigaction(signal, nullptr, &now) != 0) continue;
      const struct sigaction& before = saved_[place(signal)];
      if (now.sa_handler != before.sa_handler || now.sa_flags != before.sa_flags)
        static_cast<void>(sigaction(signal, &before, nullptr));
    }
  }

private:
  static std::size_t place(int signal) { return static_cast<std::size_t>(signal); }

  std::array<struct sigaction, NSIG> saved_{};
  std::array<bool, NSIG> known_{};
};

} // namespace

Result<std::unique_ptr<Transport>> open_ucx(const Options& options, const NearCards& near) {
  using Entry = Transport* (*)(const Options*, const NearCards*, std::string*);
  // UCX with less ends the process while it starts, or loses messages without a word when it runs out later.
  constexpr std::uint64_t needs_bytes = std::uint64_t{128} << 20;
  if (const Status may = may_map(needs_bytes, "UCX"); !may) return may.error();
  const SignalDispositions before;
  const auto symbol = open_module_symbol(options, "ucx", "strata_transport_v2");
  before.restore();
  if (!symbol) return symbol.error();

  std::string why_not;
  std::unique_ptr<Transport> transport(reinterpret_cast<Entry>(*symbol)(&options, &near, &why_not));
  before.restore(); // UCX loads its own modules when it starts
  if (!transport) return Error{ErrorKind::unsupported, why_not};
  return transport;
}

} // namespace strata::transport
