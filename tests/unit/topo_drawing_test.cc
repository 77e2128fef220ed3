// SPDX-License-Identifier: BSD-3-Clause
#include "topo/drawing_svg.h"

#include <gtest/gtest.h>
#include <pugixml.hpp>

#include <cstring>

namespace strata::topo {
namespace {

Hierarchy two_racks() {
  std::vector<RankFacts> facts;
  for (std::int32_t rank = 0; rank < 12; ++rank)
    facts.push_back({.memory_group = rank % 6});
  return *hierarchy_by_hand("0,6|1,7|2,8|3,9|4,10|5,11 / 0-2,6-8|3-5,9-11", facts);
}

struct Rectangle {
  double left, top, right, bottom;
};

Rectangle rectangle_of(pugi::xml_node group) {
  const auto node = group.child("rect");
  const double x = node.attribute("x").as_double(), y = node.attribute("y").as_double();
  return {x, y, x + node.attribute("width").as_double(), y + node.attribute("height").as_double()};
}

void expect_nested(pugi::xml_node group, int& ranks) {
  if (std::strcmp(group.attribute("class").value(), "rank") == 0) ++ranks;
  const Rectangle outer = rectangle_of(group);
  std::vector<Rectangle> drawn;
  for (const auto child : group.children("g")) {
    const Rectangle inner = rectangle_of(child);
    EXPECT_TRUE(outer.left < inner.left && inner.right < outer.right && outer.top < inner.top &&
                inner.bottom < outer.bottom)
        << "a box leaves the one around it";
    for (const Rectangle& other : drawn)
      EXPECT_TRUE(inner.left > other.right || inner.right < other.left || inner.top > other.bottom ||
                  inner.bottom < other.top)
          << "two boxes overlap";
    drawn.push_back(inner);
    expect_nested(child, ranks);
  }
}

TEST(HierarchySvg, NestsEveryRankInsideItsGroups) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(to_svg(two_racks(), {}).c_str()));
  const auto svg = document.child("svg");
  int ranks = 0;
  expect_nested(svg.child("g"), ranks);
  EXPECT_EQ(ranks, 12);
  const Rectangle all = rectangle_of(svg.child("g"));
  EXPECT_LT(all.right, svg.attribute("width").as_double());
  EXPECT_LT(all.bottom, svg.attribute("height").as_double());
}

TEST(HierarchySvg, TakesLabelsWithMarkupAndControlBytes) {
  const std::vector<std::string> labels(12, "<&\"host\x01\xff");
  pugi::xml_document document;
  const auto parsed = document.load_string(to_svg(two_racks(), labels).c_str());
  ASSERT_TRUE(parsed) << parsed.description();
  EXPECT_STREQ(document.select_node("//g[@class='rank']/title").node().child_value(), "rank 0 on <&\"host??");
}

TEST(HierarchySvg, DrawsASingleRank) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(to_svg(Hierarchy{}, {}).c_str()));
  EXPECT_EQ(document.select_nodes("//g[@class='rank']").size(), 1u);
}

} // namespace
} // namespace strata::topo
