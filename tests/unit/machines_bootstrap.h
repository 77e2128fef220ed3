// SPDX-License-Identifier: BSD-3-Clause
// Several machines in one process.
#pragma once

#include "thread_bootstrap.h"

#include <algorithm>
#include <cstring>

namespace strata::comm {

/// Every two ranks as if they were a machine of their own: what they say of the memory that they share is spoilt on its
/// way to other machines.
class MachinesBootstrap final : public Bootstrap {
public:
  MachinesBootstrap(ThreadJob& job, const std::shared_ptr<Meeting>& meeting, int rank)
      : job_(job), all_(meeting, rank) {}
  std::int32_t rank() const override { return all_.rank(); }
  std::int32_t ranks() const override { return all_.ranks(); }
  engine::IdleHook idle_hook() const override { return all_.idle_hook(); }
  void wait_for_all(engine::IdleHook meanwhile) override { all_.wait_for_all(meanwhile); }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    const Status done = all_.all_gather(mine, all, bytes);
    for (int other = 0; done && other < ranks(); ++other)
      if (other / 2 != rank() / 2)
        spoil(job_.process(other), static_cast<char*>(all) + static_cast<std::size_t>(other) * bytes, bytes);
    return done;
  }

private:
  static void spoil(Process& process, char* text, std::size_t bytes) {
    const std::string& address = process.shared_memory(nullptr)->address();
    char* const found = std::search(text, text + bytes, address.begin(), address.end());
    if (found == text + bytes) return;
    found[address.size() - 8] ^= 1; // the process id
    const std::uint64_t space = process.socket_space();
    const auto* const number = reinterpret_cast<const char*>(&space);
    char* const socket_space = std::search(text, text + bytes, number, number + sizeof space);
    if (socket_space != text + bytes) std::memset(socket_space, 0, sizeof space);
  }

  ThreadJob& job_;
  ThreadBootstrap all_;
};

} // namespace strata::comm
