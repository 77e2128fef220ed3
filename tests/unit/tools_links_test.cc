// SPDX-License-Identifier: BSD-3-Clause
// What strata-info makes of a profile and a job.
#include "tools/info.h"
#include "topo/drawing_svg.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata::tools {
namespace {

using nlohmann::json;

tune::Profile profile() {
  return *tune::profile_from("strata-profile 1\n"
                             "measured 2026-11-21T12:00:00Z ucx\n"
                             "host n[1-4]\n"
                             "node latency=25us bandwidth=118.6MB/s\n"
                             "rack r0 hosts=n1,n3 latency=60us uplink=59.3MB/s\n"
                             "rack east hosts=n2,n4\n"
                             "slow n3 bandwidth=0.25\n"
                             "asymmetric n1 n4 bandwidth=0.4\n"
                             "end 7\n",
                             "p");
}

json job() {
  json levels = json::array();
  levels.push_back({{"name", "node"}, {"link", "shared memory"}, {"groups", {{0, 1}, {2}, {3}, {4}}}});
  levels.push_back({{"name", "rack"}, {"link", "network"}, {"groups", {{0, 1, 3}, {2, 4}}}});
  levels.push_back({{"name", "cluster"}, {"link", "shared uplink"}, {"groups", {{0, 1, 2, 3, 4}}}});
  json facts = {{"ranks", 5},
                {"nodes", 4},
                {"hosts", {"n1", "n1", "n2", "n3", "n4"}},
                {"switches", {"", "", "s1", "", "s1"}},
                {"levels", levels},
                {"links", {{"origin", "an earlier job"}, {"path", "/home/me/a.profile"}}}};
  facts["links"] = links_facts(profile(), facts, 1795262400 + 3 * 3600);
  return facts;
}

TEST(MeasuredTree, HasItsNumbersMembersAndNamesAsText) {
  const json facts = job();
  EXPECT_EQ(to_text(hierarchy_of(facts), rank_labels(facts), link_remarks(facts)),
            "cluster (shared uplink): ranks 0-4 - 118.6MB/s and 60us between its racks\n"
            "  rack 0 (network): ranks 0,1,3 - 118.6MB/s and 25us between its nodes, uplink of 59.3MB/s\n"
            "    node 0 (shared memory): ranks 0,1 [n1, asymmetric to n4]\n"
            "    node 2: rank 3 [n3, slow]\n"
            "  rack 1 (network): ranks 2,4 - east, 118.6MB/s and 25us between its nodes\n"
            "    node 1: rank 2 [n2]\n"
            "    node 3: rank 4 [n4]\n");
}

TEST(MeasuredTree, SaysWhoseMeasurementItIsHowOldAndWhatIsSlow) {
  EXPECT_EQ(link_lines(job()),
            (std::vector<std::string>{
                "links between nodes: measured 2026-11-21T12:00:00Z (3 h ago) over ucx, by an earlier job "
                "(/home/me/a.profile)",
                "  slow network card of n3: it has 25% of the others' bandwidth",
                "  asymmetric link from n1 to n4: 40% of the rate of the other way",
                "switch s1 by the scheduler's word: n2 n4"}));
}

TEST(MeasuredTree, HasItsNumbersAsJson) {
  const json links = job()["links"];
  EXPECT_EQ(links["levels"][1]["members"], 2);
  EXPECT_EQ(links["levels"][1]["latency_seconds"], 25e-6);
  EXPECT_EQ(links["levels"][1]["groups"][0]["uplink_bytes_per_second"], 59.3e6);
  EXPECT_TRUE(links["levels"][1]["groups"][1]["uplink_bytes_per_second"].is_null());
  EXPECT_TRUE(links["levels"][0]["bytes_per_second"].is_null());
  EXPECT_EQ(links["age_seconds"], 3 * 3600);
  EXPECT_EQ(links["origin"], "an earlier job");
  EXPECT_EQ(links["slow"][0]["host"], "n3");
}

TEST(MeasuredTree, HasItsNumbersInTheDrawing) {
  const json facts = job();
  const std::string svg = topo::to_svg(hierarchy_of(facts), rank_labels(facts), link_remarks(facts), link_lines(facts));
  for (const char* text : {"uplink of 59.3MB/s", "n3, slow", "slow network card of n3", "by an earlier job"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
}

TEST(MeasuredTree, OfLinksThatAreNotMeasuredSaysSo) {
  json facts = job();
  facts["links"] = {{"origin", "none"}, {"path", ""}};
  facts["switches"] = json::array();
  EXPECT_EQ(
      link_lines(facts),
      (std::vector<std::string>{"links between nodes: not measured (--measure does; so do programs while they run)"}));
  EXPECT_TRUE(link_remarks(facts).empty());
}

} // namespace
} // namespace strata::tools
