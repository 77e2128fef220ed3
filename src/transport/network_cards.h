// SPDX-License-Identifier: BSD-3-Clause
// Which network cards a process sends through whose buffers are in the memory of a device: by the wish of its user,
// those that are nearest to it.
//
//     asked of          says                                  e.g. for a GPU at 0000:3b:00.0
//     comm, hwloc       the cards near the device             ib0, mlx5_0
//     UCX               the network devices that it has       mlx5_0:1, mlx5_1:1, eth0, lo
//     choose_cards()    those of the second of the first      mlx5_0:1
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata::transport {

/// The network cards that are nearest to the device in whose memory the buffers of this process are.
struct NearCards {
  bool wanted = false;            ///< false: nobody asked, and all else is empty
  std::string device;             ///< for people: "device 0 at 0000:3b:00.0"
  std::vector<std::string> names; ///< the operating system's: "mlx5_0", "eth0"
  std::string why_none;           ///< why it is not known which they are; empty: it is
};

/// A network device as UCX names it: a card that does RDMA with its port, "mlx5_0:1", or an interface, "eth0".
struct NetworkDevice {
  std::string name;
  std::uint64_t megabits = 0; ///< per second; 0: not known
};

struct CardChoice {
  std::vector<std::string> names; ///< those to be used, as UCX names them; empty: all, as if nothing had been asked
  std::string why;                ///< why all
};

/// Those of `devices` that are near, if some are and some are not. None that is slower than another, as far as that is
/// known: an interface is slower than RDMA, and what is not known is as fast as the others. Loopback is no card.
/// `set_by_user` is the value of UCX_NET_DEVICES, which goes before unless it is empty or "all".
CardChoice choose_cards(std::string_view set_by_user, std::span<const NetworkDevice> devices, const NearCards& near);

/// "mlx5_0:1, eth0"
std::string listed(std::span<const std::string> names);

/// The rate of a network device by that name, in millions of bits per second, as Linux tells it below `classes`; 0: it
/// does not.
std::uint64_t megabits_of(const std::string& device, const std::string& classes = "/sys/class");

} // namespace strata::transport
