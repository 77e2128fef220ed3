// SPDX-License-Identifier: BSD-3-Clause
// Processes of a job, all in this one, that talk to each other over UCX and whatever network devices it finds, lo at
// least.
#pragma once

#include "messages.h"
#include "transport/ucx_loader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

namespace strata::transport {

inline Options with_modules_of_this_build() {
  Options options;
  options.module_path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "lib/strata";
  return options;
}

/// Processes 0, 1 and 2 of a job, all in this one.
class UcxTransportTest : public testing::Test {
protected:
  void SetUp() override {
    const Options options = with_modules_of_this_build();
    ASSERT_TRUE(std::filesystem::exists(options.module_path + "/ucx.so")) << "configure found UCX, so make builds it";
    for (std::uint64_t process = 0; process < 3; ++process) {
      auto transport = open_ucx(options);
      ASSERT_TRUE(transport) << transport.error().message;
      addresses_.push_back({10 + process, (*transport)->address()});
      transports_.push_back(std::move(*transport));
    }
  }
  void TearDown() override { links_.clear(); }

  std::unique_ptr<Channel> channel(std::int32_t self, const ChannelShape& shape, std::uint64_t context = 0) {
    std::vector<PeerAddress> ranks = addresses_;
    for (PeerAddress& rank : ranks)
      rank.context_key += 100 * context;
    const std::vector<bool> all(ranks.size(), true);
    auto links = transports_[static_cast<std::size_t>(self)]->link(ranks, self, all);
    EXPECT_TRUE(links);
    links_.push_back(std::move(*links));
    auto made = links_.back()->prepare(shape);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  /// The rest of the set-up, which all processes do at the same time.
  void connect(const std::vector<Channel*>& channels) {
    for (Channel* channel : channels)
      ASSERT_TRUE(channel->connect({}));
    ASSERT_TRUE(wait_for([&] {
      bool all = true;
      for (Channel* channel : channels) {
        channel->progress();
        all &= channel->connected();
      }
      return all;
    }));
  }

  std::string why_not_connected(Channel& channel) {
    if (const Status begun = channel.connect({}); !begun) return begun.error().message;
    (void)wait_for([&] {
      channel.progress();
      return channel.failure() != nullptr || channel.connected();
    });
    return channel.failure() != nullptr ? channel.failure() : "it has connected, or still waits";
  }

  static Outgoing outgoing(std::vector<std::int32_t> peers, std::uint16_t round, std::size_t most_bytes) {
    return {{1, 0, round}, 0, std::move(peers), most_bytes};
  }
  static Incoming incoming(std::int32_t peer, std::uint16_t round, std::size_t most_bytes) {
    return {{1, 0, round}, 0, peer, most_bytes};
  }

  std::vector<PeerAddress> addresses_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<Links>> links_;
};

} // namespace strata::transport
