// SPDX-License-Identifier: BSD-3-Clause
#include "tools/matrix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pugixml.hpp>

#include <set>

namespace strata::tools {
namespace {

struct Picture {
  pugi::xml_document document;
  int of_class(const char* name) const {
    const std::string path = fmt::format("//rect[@class='{}']", name);
    return static_cast<int>(document.select_nodes(path.c_str()).size());
  }
  bool has_text(const std::string& text) const {
    for (const auto& node : document.select_nodes("//text"))
      if (text == node.node().text().get()) return true;
    return false;
  }
};

void draw(Picture& picture, std::int32_t nodes, const topo::LinkMatrix& matrix) {
  std::vector<std::string> hosts;
  for (std::int32_t node = 0; node < nodes; ++node)
    hosts.push_back(fmt::format("n{}", node));
  const auto text = matrix_svg(hosts, matrix);
  ASSERT_TRUE(text) << text.error().message;
  ASSERT_TRUE(picture.document.load_string(text->c_str()));
}

topo::LinkMatrix matrix_of(std::int32_t nodes) {
  topo::LinkMatrix matrix;
  matrix.nodes = nodes;
  for (std::int32_t from = 0; from < nodes; ++from)
    for (std::int32_t to = 0; to < nodes; ++to) {
      matrix.latency.push_back(from == to ? 0 : 20e-6 * (1 + (from + to) % 3));
      matrix.bandwidth.push_back(from == to ? 0 : 100e6 / (1 + (from + to) % 2));
    }
  return matrix;
}

TEST(MatrixSvg, HasACellForEachPairInBothPanels) {
  Picture picture;
  draw(picture, 3, matrix_of(3));
  EXPECT_EQ(picture.of_class("cell"), 2 * 6);
  EXPECT_EQ(picture.of_class("self"), 2 * 3);
  EXPECT_EQ(picture.of_class("unmeasured"), 0);
}

TEST(MatrixSvg, ShowsValuesAndUnitsOfFewNodes) {
  Picture picture;
  draw(picture, 3, matrix_of(3));
  for (const char* text : {"20", "60", "50", "100", "Latency in us, from row to column",
                           "Bandwidth in MB/s, from row to column", "n2", "not measured"})
    EXPECT_TRUE(picture.has_text(text)) << text;
}

TEST(MatrixSvg, HatchesWhatWasNotMeasured) {
  topo::LinkMatrix matrix = matrix_of(3);
  matrix.bandwidth[1] = 0; // from 0 to 1
  Picture picture;
  draw(picture, 3, matrix);
  EXPECT_EQ(picture.of_class("unmeasured"), 1);
  EXPECT_STREQ(picture.document.select_node("//rect[@class='unmeasured']").node().attribute("fill").value(),
               "url(#hatched)");
}

TEST(MatrixSvg, GivesMoreADarkerShade) {
  topo::LinkMatrix matrix = matrix_of(2);
  matrix.bandwidth = {0, 100e6, 30e6, 0};
  Picture picture;
  draw(picture, 2, matrix);
  std::vector<int> red; // of the second panel, by cell
  for (const auto& node : picture.document.select_nodes("//g[2]/rect[@class='cell']"))
    red.push_back(std::stoi(std::string(node.node().attribute("fill").value()).substr(1, 2), nullptr, 16));
  ASSERT_EQ(red.size(), 2U);
  EXPECT_LT(red[0], red[1]);
}

TEST(MatrixSvg, OfManyNodesJoinsCellsOfOneColour) {
  topo::LinkMatrix matrix;
  matrix.nodes = 200;
  matrix.latency.assign(200 * 200, 20e-6);
  matrix.bandwidth.assign(200 * 200, 100e6);
  Picture picture;
  draw(picture, 200, matrix);
  EXPECT_LE(picture.of_class("cell"), 2 * 2 * 200);
}

TEST(MatrixSvg, OfNothingMeasuredIsAllHatched) {
  topo::LinkMatrix matrix;
  matrix.nodes = 2;
  matrix.latency.assign(4, 0);
  matrix.bandwidth.assign(4, 0);
  Picture picture;
  draw(picture, 2, matrix);
  EXPECT_EQ(picture.of_class("unmeasured"), 4);
}

TEST(MatrixSvg, RefusesMoreNodesThanAPictureCanShow) {
  topo::LinkMatrix matrix;
  matrix.nodes = most_drawn_nodes + 1;
  EXPECT_FALSE(matrix_svg({}, matrix));
}

} // namespace
} // namespace strata::tools
