// SPDX-License-Identifier: BSD-3-Clause
#include "edited_text.h"
#include "tune/profile.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

const std::string four_hosts = "strata-profile 1\n"                                    // line 1
                               "# by hand\n"                                           // 2
                               "measured 2026-11-21T12:00:00Z ucx\n"                   // 3
                               "host n1 n2 n[3-4]\n"                                   // 4
                               "node latency=25us bandwidth=118.6MB/s\n"               // 5
                               "rack r0 hosts=n1,n3 uplink=59.3MB/s latency=60us\n"    // 6
                               "rack r1 hosts=n[2,4]  # no uplink seen\n"              // 7
                               "\n"                                                    // 8
                               "slow n3 bandwidth=0.25\n"                              // 9
                               "memory copy=5.2GB/s copy-all=3.9GB/s reduce=4.1GB/s\n" // 10
                               "end 7\n";                                              // 11

std::string reason(const std::string& text) { return reason_of(profile_from, text, "p.txt"); }

/// Expects that the four hosts are refused once `what` is replaced by `other`.
void expect_refusal(const std::string& what, const std::string& other, const std::string& message) {
  EXPECT_EQ(reason(with(four_hosts, what, other)), message);
}

TEST(ProfileText, IsRead) {
  const auto profile = profile_from(four_hosts, "p.txt");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->measured, 1795262400);
  EXPECT_EQ(profile->transport, "ucx");
  EXPECT_EQ(profile->hosts, (std::vector<std::string>{"n1", "n2", "n3", "n4"}));
  EXPECT_EQ(profile->latency, 25e-6);
  EXPECT_EQ(profile->bandwidth, 118.6e6);
  const std::vector<HostGroup> racks{{"r0", {"n1", "n3"}, 60e-6, 0, 59.3e6}, {"r1", {"n2", "n4"}, 0, 0, 0}};
  EXPECT_EQ(profile->levels, (std::vector<HostLevel>{{"rack", racks}}));
  EXPECT_EQ(profile->slow, (std::vector<SlowHost>{{"n3", 0.25}}));
  EXPECT_EQ(profile->memory, (MemoryRates{5.2e9, 3.9e9, 4.1e9, 0}));
}

TEST(ProfileText, IsWrittenSoThatItIsReadBack) {
  const auto profile = profile_from(four_hosts, "p.txt");
  ASSERT_TRUE(profile);
  const std::string text = to_text(*profile);
  const auto again = profile_from(text, "again");
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(*again, *profile);
  EXPECT_EQ(to_text(*again), text);
  EXPECT_EQ(text.substr(text.find("\nmeasured") + 1), "measured 2026-11-21T12:00:00Z ucx\n"
                                                      "host n[1-4]\n"
                                                      "node latency=25us bandwidth=118.6MB/s\n"
                                                      "rack r0 hosts=n[1,3] latency=60us uplink=59.3MB/s\n"
                                                      "rack r1 hosts=n[2,4]\n"
                                                      "slow n3 bandwidth=0.25\n"
                                                      "memory copy=5.2GB/s copy-all=3.9GB/s reduce=4.1GB/s\n"
                                                      "end 7\n");
}

TEST(ProfileText, OfManyHostsHasLinesThatAPersonCanRead) {
  Profile profile{.measured = 0,
                  .transport = "ucx",
                  .hosts = {},
                  .latency = 1e-6,
                  .bandwidth = 1e9,
                  .levels = {},
                  .slow = {},
                  .asymmetric = {},
                  .cache = {},
                  .memory = {}};
  for (char a = 'a'; a <= 'z'; ++a)
    for (char b = 'a'; b <= 'z'; ++b)
      profile.hosts.push_back({a, b});
  const std::string text = to_text(profile);
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    EXPECT_LE(end - begin, 110u) << text.substr(begin, end - begin);
  }
  EXPECT_EQ(profile_from(text, "many")->hosts, profile.hosts);
}

TEST(ProfileText, TellsRatesInCacheAndInMemory) {
  const std::string lines = "cache copy=42GB/s copy-all=35GB/s reduce=21GB/s reduce-all=20GB/s\n";
  const auto profile = profile_from(with(four_hosts, "slow n3 bandwidth=0.25\n", lines), "p.txt");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->cache, (MemoryRates{42e9, 35e9, 21e9, 20e9}));
  EXPECT_EQ(profile->memory, (MemoryRates{5.2e9, 3.9e9, 4.1e9, 0}));
  EXPECT_NE(to_text(*profile).find(lines), std::string::npos) << to_text(*profile);
  EXPECT_EQ(reason(with(four_hosts, "slow n3 bandwidth=0.25\n", "cache\n")),
            "p.txt:9: 'cache' takes some of copy, copy-all, reduce, reduce-all or share");
}

TEST(ProfileText, TellsTheShareOfTheCache) {
  const std::string slow = "slow n3 bandwidth=0.25", line = "cache share=12M copy=42GB/s\n";
  const auto profile = profile_from(with(four_hosts, slow + "\n", line), "p.txt");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->cache_share, 12U << 20U);
  EXPECT_NE(to_text(*profile).find(line), std::string::npos) << to_text(*profile);
  expect_refusal(slow, "cache share=1000",
                 "p.txt:9: share=1000 cannot be (1K to 1T bytes; leave out what is not known)");
  expect_refusal(slow, "cache share=much",
                 "p.txt:9: share=much cannot be (1K to 1T bytes; leave out what is not known)");
  EXPECT_NE(reason(with(four_hosts, "memory copy", "memory share=12M copy")).find("share"), std::string::npos)
      << "of the cache alone";
}

TEST(ProfileText, TellsWhatOfAHostIsSlowAndWhichLinksAreAsymmetric) {
  const std::string slow = "slow n3 bandwidth=0.25 sends=0.5 receives=0.6 latency=3 cores=0.7\n";
  const std::string text = with(four_hosts, "slow n3 bandwidth=0.25\n", slow);
  const auto profile = profile_from(text, "p.txt");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->slow, (std::vector<SlowHost>{{"n3", 0.25, 0.5, 0.6, 3, 0.7}}));
  EXPECT_NE(to_text(*profile).find(slow), std::string::npos) << to_text(*profile);

  const std::string pair = "asymmetric n1 n4 bandwidth=0.4\n";
  const auto asymmetric = profile_from(with(four_hosts, "slow n3 bandwidth=0.25\n", pair), "p.txt");
  ASSERT_TRUE(asymmetric) << asymmetric.error().message;
  EXPECT_EQ(asymmetric->asymmetric, (std::vector<AsymmetricHosts>{{"n1", "n4", 0.4}}));
  EXPECT_NE(to_text(*asymmetric).find(pair), std::string::npos) << to_text(*asymmetric);
}

TEST(ProfileText, WithAnOutlierThatCannotBeIsRefused) {
  const std::string slow = "slow n3 bandwidth=0.25";
  expect_refusal(slow, "slow n3 latency=0.5",
                 "p.txt:9: latency=0.5 of a slow host cannot be (a factor from above 1 to 1000)");
  expect_refusal(
      slow, "slow n3",
      "p.txt:9: 'slow' takes a host and some of bandwidth, sends, receives, latency or cores, with a factor");
  expect_refusal(slow, "asymmetric n1 bandwidth=0.5",
                 "p.txt:9: 'asymmetric' takes two hosts, from and to, and bandwidth= with a factor");
  expect_refusal(slow, "asymmetric n1 n1 bandwidth=0.5", "p.txt:9: 'asymmetric' takes two hosts, and n1 is one");
  expect_refusal(slow, "asymmetric n1 n9 bandwidth=0.5", "p.txt:9: no 'host' names n9 of an asymmetric pair");
}

TEST(ProfileText, TellsWhatMessagesTakeByLinkAndSize) {
  const std::string text = with(four_hosts, "slow n3 bandwidth=0.25\n",
                                "messages cache strata 8B=110ns 32KiB=6us\nmessages network native 4KiB=60us\n");
  const auto profile = profile_from(with(text, "end 7", "end 8"), "p.txt");
  ASSERT_TRUE(profile) << profile.error().message;
  MessageTimesByLink wanted{};
  wanted[static_cast<std::size_t>(topo::LinkKind::shared_cache)].strata = {110e-9, 0, 0, 6e-6, 0};
  wanted[static_cast<std::size_t>(topo::LinkKind::network)].native = {0, 0, 60e-6, 0, 0};
  EXPECT_EQ(profile->messages, wanted);
  EXPECT_NE(to_text(*profile).find("\nmessages cache strata 8B=110ns 32KiB=6us\nmessages network native 4KiB=60us\n"),
            std::string::npos)
      << to_text(*profile);
}

TEST(ProfileText, WhoseMessagesCannotBeIsRefused) {
  const auto expect = [](const std::string& line, const std::string& message) {
    expect_refusal("slow n3 bandwidth=0.25", line, message);
  };
  const std::string allowed =
      "p.txt:9: 'messages' takes a link (cache, memory, network or uplink), then who carried them "
      "(strata or native), then some of 8B, 512B, 4KiB, 32KiB or 256KiB, with a time";
  expect("messages cache strata", allowed);
  expect("messages disk strata 8B=1us", allowed);
  expect("messages cache mpi 8B=1us", allowed);
  expect("messages cache strata 9B=1us",
         "p.txt:9: messages takes no '9B=1us' (8B, 512B, 4KiB, 32KiB or 256KiB, each with '=' and its value)");
  expect("messages cache strata 8B=0s", "p.txt:9: 8B=0s cannot be (1ns to 10s; leave out what was not measured)");
  const std::string twice =
      with(four_hosts, "slow n3 bandwidth=0.25", "messages cache strata 8B=1us\nmessages cache strata 512B=1us");
  EXPECT_EQ(reason(with(twice, "end 7", "end 8")), "p.txt:10: 'messages' comes for the second time (first in line 9)");
}

TEST(ProfileText, TellsWhatOneRankOfANodeCanDo) {
  const std::string text = with(four_hosts, "bandwidth=118.6MB/s", "bandwidth=118.6MB/s rank=61MB/s");
  const auto profile = profile_from(text, "p.txt");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->bandwidth_of_rank, 61e6);
  EXPECT_NE(to_text(*profile).find("node latency=25us bandwidth=118.6MB/s rank=61MB/s\n"), std::string::npos);
  EXPECT_EQ(profile_from(to_text(*profile), "again")->bandwidth_of_rank, 61e6);
  expect_refusal("bandwidth=118.6MB/s", "bandwidth=118.6MB/s rank=118.6MB/s",
                 "p.txt:5: rank=118.6MB/s is not less than bandwidth=118.6MB/s (leave it out where one rank fills a "
                 "node's links)");
  expect_refusal("bandwidth=118.6MB/s", "bandwidth=118.6MB/s rank=-1MB/s",
                 "p.txt:5: rank: '-1MB/s' is no rate (such as 118.6MB/s or 10Gbit/s, with k, M, G, T, Ki, Mi, Gi or "
                 "Ti before B/s or bit/s)");
}

TEST(ProfileText, TellsTheGapBetweenMessagesOfANode) {
  const std::string text = with(four_hosts, "bandwidth=118.6MB/s", "bandwidth=118.6MB/s gap=42us senders=3");
  const auto profile = profile_from(text, "p.txt");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_DOUBLE_EQ(profile->gap, 42e-6);
  EXPECT_NE(to_text(*profile).find("node latency=25us bandwidth=118.6MB/s gap=42us senders=3\n"), std::string::npos);
  EXPECT_EQ(profile->gap_senders, 3);
  EXPECT_EQ(*profile_from(to_text(*profile), "again"), *profile);
  for (const char* half : {"gap=42us", "senders=3"})
    expect_refusal("bandwidth=118.6MB/s", std::string("bandwidth=118.6MB/s ") + half,
                   "p.txt:5: gap= and senders= stand together, or neither does");
  expect_refusal("bandwidth=118.6MB/s", "bandwidth=118.6MB/s gap=42us senders=0",
                 "p.txt:5: senders=0 cannot be (1 to 1000000)");
  expect_refusal("bandwidth=118.6MB/s", "bandwidth=118.6MB/s gap=0s senders=3",
                 "p.txt:5: gap=0s cannot be (1ns to 10s; leave out what was not measured)");
  expect_refusal("bandwidth=118.6MB/s", "bandwidth=118.6MB/s gap=5MB/s senders=3",
                 "p.txt:5: gap: '5MB/s' is no time (such as 25us, with ns, us, ms or s)");
}

TEST(ProfileText, OfOneHostNeedsNoLink) {
  EXPECT_EQ(reason("strata-profile 1\nmeasured 2026-11-21T12:00:00Z ucx\nhost n1\nmemory copy=5GB/s\nend 3\n"),
            "it was taken");
}

TEST(ProfileText, MayHaveTheLineEndsOfOtherSystemsAndNoneAtItsEnd) {
  std::string text;
  for (const char c : four_hosts.substr(0, four_hosts.size() - 1))
    text += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(reason(text), "it was taken");
}

TEST(ProfileText, CutShortAnywhereIsRefused) {
  for (std::size_t length = 0; length + 2 < four_hosts.size(); ++length)
    EXPECT_NE(reason(four_hosts.substr(0, length)), "it was taken") << length << " bytes";
  EXPECT_EQ(reason(four_hosts.substr(0, four_hosts.find("slow"))),
            "p.txt:9: the file is cut short: there is no 'end' ('end 5' after what is here)");
}

TEST(ProfileText, ThatLacksLinesIsRefused) {
  expect_refusal(
      "slow n3 bandwidth=0.25\n", "",
      "p.txt:10: 'end 7' does not fit: between the first line and this one, 6 say something (write 'end 6' if "
      "none is missing)");
  expect_refusal("end 7", "end",
                 "p.txt:11: 'end ' does not fit: between the first line and this one, 7 say something "
                 "(write 'end 7' if none is missing)");
  expect_refusal("end 7\n", "end 7\nhost n9\n", "p.txt:12: 'host' comes after the end");
}

TEST(ProfileText, OfAnotherKindOrVersionIsRefused) {
  expect_refusal("strata-profile 1", "strata-profile 2", "p.txt:1: strata-profile of version '2' is not known (1 is)");
  expect_refusal("strata-profile 1", "strata-table 1",
                 "p.txt:1: this is no strata-profile: it begins with 'strata-table', not with 'strata-profile 1'");
  EXPECT_EQ(reason(""), "p.txt:1: nothing is here; 'strata-profile 1' is wanted");
}

TEST(ProfileText, WithAnUnknownWordIsRefused) {
  expect_refusal("slow n3", "slwo n3",
                 "p.txt:9: 'slwo' is not known (measured, host, node, rack, island, slow, asymmetric, cache, memory, "
                 "messages or end)");
  expect_refusal("uplink=", "upink=",
                 "p.txt:6: rack takes no 'upink=59.3MB/s' (hosts, latency, bandwidth or uplink, each "
                 "with '=' and its value)");
  expect_refusal("copy=5.2GB/s", "copy",
                 "p.txt:10: memory takes no 'copy' (copy, copy-all, reduce or reduce-all, each "
                 "with '=' and its value)");
  expect_refusal("r1 hosts=n[2,4]", "r1/2 hosts=n[2,4]",
                 "p.txt:7: 'rack' takes a name first (letters, digits and any of -_.+, 64 at most)");
}

TEST(ProfileText, WithAnAbsurdNumberIsRefused) {
  expect_refusal("bandwidth=118.6MB/s", "bandwidth=0MB/s",
                 "p.txt:5: bandwidth=0MB/s cannot be (1kB/s to 1000TB/s; leave out what was not measured)");
  expect_refusal(
      "bandwidth=118.6MB/s", "bandwidth=-1MB/s",
      "p.txt:5: bandwidth: '-1MB/s' is no rate (such as 118.6MB/s or 10Gbit/s, with k, M, G, T, Ki, Mi, Gi or "
      "Ti before B/s or bit/s)");
  expect_refusal("uplink=59.3MB/s", "uplink=59300TB/s",
                 "p.txt:6: uplink=59300TB/s cannot be (1kB/s to 1000TB/s; leave out what was not measured)");
  expect_refusal("latency=25us", "latency=25s",
                 "p.txt:5: latency=25s cannot be (1ns to 10s; leave out what was not measured)");
  expect_refusal("bandwidth=0.25", "bandwidth=1.5",
                 "p.txt:9: bandwidth=1.5 of what is slow cannot be (a factor from 0.001 to below 1)");
  expect_refusal("bandwidth=0.25", "bandwidth=0",
                 "p.txt:9: bandwidth=0 of what is slow cannot be (a factor from 0.001 to below 1)");
}

TEST(ProfileText, ThatSaysSomethingTwiceIsRefused) {
  const std::string eight = with(four_hosts, "end 7", "end 8");
  EXPECT_EQ(reason(with(eight, "# by hand", "node latency=1us bandwidth=1GB/s")),
            "p.txt:5: 'node' comes for the second time (first in line 2)");
  EXPECT_EQ(reason(with(eight, "# by hand", "slow n3 bandwidth=0.5")),
            "p.txt:9: slow host n3 is there for the second time (first in line 2)");
  expect_refusal("host n1 n2", "host n1 n4", "p.txt:4: host n4 is there for the second time (first in line 4)");
  expect_refusal("rack r1", "rack r0", "p.txt:7: rack r0 is there for the second time (first in line 6)");
  expect_refusal("latency=25us", "latency=25us latency=25us", "p.txt:5: 'latency' is given for the second time");
}

TEST(ProfileText, ThatLacksWhatIsNeededIsRefused) {
  expect_refusal("measured 2026-11-21T12:00:00Z ucx\n", "slow n1 bandwidth=0.5\n",
                 "p.txt:10: nothing says when and over what it was 'measured'");
  expect_refusal("latency=25us ", "", "p.txt:5: 'node' takes latency and bandwidth, and latency is missing");
  expect_refusal("hosts=n1,n3 ", "", "p.txt:6: rack r0 has no hosts=");
  expect_refusal("node latency=25us bandwidth=118.6MB/s\n", "slow n1 bandwidth=0.5\n",
                 "p.txt:10: there is no 'node' with latency and bandwidth");
}

TEST(ProfileText, WhoseRacksDoNotFitTheHostsIsRefused) {
  expect_refusal("hosts=n[2,4]", "hosts=n[2,3,4]", "p.txt:7: host n3 is in rack r0 already (line 6)");
  expect_refusal("hosts=n1,n3", "hosts=n1,n3,n1", "p.txt:6: host n1 is in rack r0 already (line 6)");
  expect_refusal("hosts=n[2,4]", "hosts=n[2,4,9]", "p.txt:7: rack r1 has host n9, which no 'host' names");
  expect_refusal("hosts=n[2,4]", "hosts=n4",
                 "p.txt:7: host n2 is in no rack (either all hosts are in one, or there is none)");
  expect_refusal("slow n3", "slow n7", "p.txt:9: no 'host' names the slow host n7");
}

TEST(ProfileText, WhoseIslandsDivideARackIsRefused) {
  const std::string islands = with(four_hosts, "end 7", "island i0 hosts=n[1-2]\nisland i1 hosts=n[3-4]\nend 9");
  EXPECT_EQ(reason(islands),
            "p.txt:12: island i1 has host n3 of rack r0, but n1 of that rack is in island i0 (line 11); an "
            "island is made of whole racks");
  EXPECT_EQ(reason(with(with(islands, "hosts=n[1-2]", "hosts=n[1,3]"), "hosts=n[3-4]", "hosts=n[2,4]")),
            "it was taken");
}

TEST(ProfileCheck, RefusesWhatItsTextCannotSay) {
  auto profile = *profile_from(four_hosts, "p.txt");
  EXPECT_TRUE(check(profile));
  auto wrong = profile;
  wrong.bandwidth = -5;
  EXPECT_FALSE(check(wrong));
  wrong = profile;
  std::swap(wrong.hosts[0], wrong.hosts[1]);
  EXPECT_FALSE(check(wrong)) << "the hosts are not sorted";
  wrong = profile;
  wrong.levels[0].name = "row";
  EXPECT_FALSE(check(wrong));
}

} // namespace
} // namespace strata::tune
