// SPDX-License-Identifier: BSD-3-Clause
#include "base/quantity.h"
#include "tune/host_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace strata::tune {
namespace {

using Hosts = std::vector<std::string>;

/// The hosts of a list, joined by blanks, or the reason for its refusal.
std::string expanded(const std::string& list, std::size_t most = most_hosts) {
  const auto hosts = hosts_of(list, most);
  return hosts ? fmt::format("{}", fmt::join(hosts->begin(), hosts->end(), " ")) : hosts.error().message;
}

std::string compact(Hosts hosts) {
  std::sort(hosts.begin(), hosts.end());
  const Hosts items = host_items(hosts);
  return fmt::format("{}", fmt::join(items.begin(), items.end(), ","));
}

TEST(HostList, IsReadAsSlurmPrintsIt) {
  EXPECT_EQ(expanded("n1"), "n1");
  EXPECT_EQ(expanded("n[1-3,7],login"), "n1 n2 n3 n7 login");
  EXPECT_EQ(expanded("n[8-11]"), "n8 n9 n10 n11");
  EXPECT_EQ(expanded("n[08-10]-ib"), "n08-ib n09-ib n10-ib");
  EXPECT_EQ(expanded("rack[1-2]n[3-4]"), "rack1n3 rack1n4 rack2n3 rack2n4");
}

TEST(HostList, ThatIsWrongIsRefusedWithThePart) {
  EXPECT_EQ(expanded("n[1-3"), "'n[1-3' has a bracket that is not closed");
  EXPECT_EQ(expanded("n[4-1]"), "'4-1' in brackets is no number or ascending range (such as 7 or 1-4)");
  EXPECT_NE(expanded("n[]").find("'' in brackets"), std::string::npos);
  EXPECT_NE(expanded("n[a-b]").find("'a-b' in brackets"), std::string::npos);
  EXPECT_NE(expanded("n1,,n2").find("'' is no host name"), std::string::npos);
  EXPECT_NE(expanded("n1]").find("'n1]' is no host name"), std::string::npos);
  EXPECT_NE(expanded("n\x01").find("'n?' is no host name"), std::string::npos);
  EXPECT_NE(expanded(std::string(300, 'n')).find("too long"), std::string::npos);
}

TEST(HostList, OfTooManyHostsIsRefusedBeforeItFillsTheMemory) {
  for (const char* list : {"n[1-999999999999999999]", "n[1-9999][1-9999]", "n[1-200000],m[1-200000]"})
    EXPECT_EQ(expanded(list), "there are more than 262144 hosts") << list;
  EXPECT_EQ(expanded("n[1-4]", 4), "n1 n2 n3 n4");
  EXPECT_NE(expanded("n[1-4],m", 4).find("more than"), std::string::npos);
}

TEST(HostList, IsWrittenFolded) {
  EXPECT_EQ(compact({"n1", "n2", "n3", "n4", "n7"}), "n[1-4,7]");
  EXPECT_EQ(compact({"n8", "n9", "n10"}), "n[8-10]");
  EXPECT_EQ(compact({"n08", "n09", "n10"}), "n[08-10]");
  EXPECT_EQ(compact({"n1", "n01"}), "n01,n1");
  EXPECT_EQ(compact({"login", "n5"}), "login,n5");
  EXPECT_EQ(compact({"n1.cluster2.example.org", "n2.cluster2.example.org"}), "n[1-2].cluster2.example.org");
  EXPECT_EQ(compact({"n12345678901234567890"}), "n12345678901234567890");
  EXPECT_EQ(compact({}), "");
}

TEST(HostList, OfAnyHostsIsReadBack) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int round = 0; round < 300; ++round) {
    Hosts hosts;
    for (int i = pick(30); i >= 0; --i)
      hosts.push_back(fmt::format("{}{:0{}}{}", pick(1) ? "n" : "m3-", pick(120), 1 + pick(2), pick(2) ? "" : ".a1"));
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    const std::string text = compact(hosts);
    auto again = hosts_of(text);
    ASSERT_TRUE(again) << again.error().message << ", seed " << seed;
    std::sort(again->begin(), again->end());
    ASSERT_EQ(*again, hosts) << text << ", seed " << seed;
  }
}

TEST(Quantity, OfARateMayHaveAnyUnit) {
  EXPECT_EQ(*rate_from("118.6MB/s"), 118.6e6);
  EXPECT_EQ(*rate_from("1Gbit/s"), 125e6);
  EXPECT_EQ(*rate_from("5kB/s"), 5e3);
  EXPECT_EQ(*rate_from("5KB/s"), 5e3);
  EXPECT_EQ(*rate_from("3MiB/s"), 3145728);
  EXPECT_EQ(*rate_from("8Kibit/s"), 1024);
  EXPECT_EQ(*duration_from("25us"), 25e-6);
  EXPECT_EQ(*duration_from("0.5s"), 0.5);
}

TEST(Quantity, ThatIsNoneIsRefusedWithWhatIsAllowed) {
  for (const char* text : {"", "5", "MB/s", "-5MB/s", "5 MB/s", "5mb/s", "1e9B/s", "1.2.3MB/s", ".5MB/s", "5.MB/s",
                           "nan", "infB/s", "0x5B/s"}) {
    const auto rate = rate_from(text);
    ASSERT_FALSE(rate) << text;
    EXPECT_NE(rate.error().message.find("is no rate (such as 118.6MB/s"), std::string::npos) << rate.error().message;
  }
  EXPECT_FALSE(duration_from("25"));
  EXPECT_FALSE(duration_from("25MB/s"));
  EXPECT_FALSE(factor_from("25%"));
}

TEST(Quantity, IsWrittenInTheUnitThatReadsBest) {
  EXPECT_EQ(rate_text(118.6e6), "118.6MB/s");
  EXPECT_EQ(rate_text(12.5e9), "12.5GB/s");
  EXPECT_EQ(rate_text(1e9), "1GB/s");
  EXPECT_EQ(rate_text(999e6), "999MB/s");
  EXPECT_EQ(rate_text(4e15), "4000TB/s");
  EXPECT_EQ(rate_text(0.25), "0.25B/s");
  EXPECT_EQ(rate_text(0.025), "0.025B/s");
  EXPECT_EQ(duration_text(25e-6), "25us");
  EXPECT_EQ(duration_text(1.25e-3), "1.25ms");
  EXPECT_EQ(factor_text(0.25), "0.25");
}

TEST(Quantity, OfAnyDoubleIsReadBackExactly) {
  const auto seed = std::random_device{}();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-9, 15);
  for (int round = 0; round < 2000; ++round) {
    const double value = std::pow(10, exponent(random));
    const auto rate = rate_from(rate_text(value));
    const auto duration = duration_from(duration_text(value));
    ASSERT_TRUE(rate && duration) << rate_text(value) << " " << duration_text(value) << ", seed " << seed;
    ASSERT_EQ(*rate, value) << rate_text(value) << ", seed " << seed;
    ASSERT_EQ(*duration, value) << duration_text(value) << ", seed " << seed;
  }
}

TEST(Quantity, ThatNoMeasurementGivesIsWrittenButNotRead) {
  for (const double value : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(rate_from(rate_text(value))) << rate_text(value);
}

TEST(Quantity, OfAMeasurementKeepsFourDigits) {
  EXPECT_EQ(rate_text(rounded_measurement(118637123.4567)), "118.6MB/s");
  EXPECT_EQ(rate_text(rounded_measurement(999999.0)), "1MB/s");
  EXPECT_EQ(rounded_measurement(0), 0);
}

TEST(Time, IsReadAndWrittenInUtc) {
  EXPECT_EQ(*time_from("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(*time_from("2026-11-21T12:00:00Z"), 1795262400);
  EXPECT_EQ(time_text(1795262400), "2026-11-21T12:00:00Z");
  EXPECT_EQ(time_text(*time_from("2028-02-29T23:59:59Z")), "2028-02-29T23:59:59Z");
}

TEST(HostList, ThatWouldFillTheMemoryIsRefused) {
  const std::string item = std::string(200, 'n') + "[1-100000]";
  EXPECT_EQ(expanded(item).substr(expanded(item).rfind("stands")),
            "stands for names of more than 8388608 letters in all");
  EXPECT_EQ(expanded("n[1-262144]").substr(0, 6), "n1 n2 ") << "the most hosts, of a usual name";
}

TEST(Time, ThatIsNoneIsRefused) {
  for (const char* text :
       {"", "2026-11-21", "2026-11-21T12:00:00", "2026-11-21 12:00:00Z", "2026-13-21T12:00:00Z", "2027-02-29T12:00:00Z",
        "2026-11-21T24:00:00Z", "1969-12-31T23:59:59Z", "2026-11-2xT12:00:00Z"})
    EXPECT_FALSE(time_from(text)) << text;
}

} // namespace
} // namespace strata::tune
