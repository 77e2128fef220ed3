// SPDX-License-Identifier: BSD-3-Clause
// Nested boxes: every group lays its smaller groups, or its ranks, out in a grid that is about as wide as it is high.
// Sizes are found from the inside out, positions from the outside in.
#include "topo/drawing_svg.h"

#include "base/text.h"
#include "topo/tree.h"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace strata::topo {

namespace {

// In pixels.
constexpr double rank_width = 46, rank_height = 24, gap = 8, title_height = 20, letter_width = 6.7, legend_height = 30;

struct Size {
  double width = 0;
  double height = 0;
};

struct Box {
  Size size;
  const Branch* branch = nullptr; ///< null: a rank
  std::int32_t rank = -1;
  std::string title, remark; ///< a line each
  std::vector<Box> inside;
  std::size_t columns = 1;
};

const char* colour_of(LinkKind link) {
  switch (link) {
  case LinkKind::shared_cache:
    return "#d8efd3";
  case LinkKind::shared_memory:
    return "#d6e6f5";
  case LinkKind::uplink:
  case LinkKind::network:
    return "#f6e3cf";
  }
  return "#ffffff";
}

/// Widths of the columns and heights of the rows of the grid.
void measure_grid(const Box& box, std::vector<double>& widths, std::vector<double>& heights) {
  widths.assign(box.columns, 0);
  heights.assign((box.inside.size() + box.columns - 1) / box.columns, 0);
  for (std::size_t i = 0; i < box.inside.size(); ++i) {
    const Size& size = box.inside[i].size;
    widths[i % box.columns] = std::max(widths[i % box.columns], size.width);
    heights[i / box.columns] = std::max(heights[i / box.columns], size.height);
  }
}

double head_height(const Box& box) { return box.remark.empty() ? title_height : 2 * title_height; }

/// Like printable(), but never cut: a line may be as long as it must.
std::string whole_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

void measure(Box& box) {
  box.columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(box.inside.size()))));
  std::vector<double> widths, heights;
  measure_grid(box, widths, heights);
  box.size = {gap, head_height(box) + gap};
  for (const double width : widths)
    box.size.width += width + gap;
  for (const double height : heights)
    box.size.height += height + gap;
  const std::size_t longest = std::max(box.title.size(), box.remark.size());
  box.size.width = std::max(box.size.width, letter_width * static_cast<double>(longest) + 2 * gap);
}

Box rank_box(std::int32_t rank, std::span<const std::string> labels) {
  Box box;
  box.rank = rank;
  box.size = {rank_width, rank_height};
  if (static_cast<std::size_t>(rank) < labels.size()) box.title = printable(labels[static_cast<std::size_t>(rank)]);
  return box;
}

Box box_of(const Hierarchy& hierarchy, const Branch& branch, std::span<const std::string> labels) {
  Box box;
  box.branch = &branch;
  box.title = printable(title_of(hierarchy, branch));
  box.remark = whole_line(branch.remark);
  for (const Branch& smaller : branch.branches)
    box.inside.push_back(box_of(hierarchy, smaller, labels));
  if (branch.branches.empty())
    for (const std::int32_t rank : branch.ranks)
      box.inside.push_back(rank_box(rank, labels));
  measure(box);
  return box;
}

void set(pugi::xml_node node, const char* name, double value) {
  node.append_attribute(name).set_value(fmt::format("{:.6g}", value).c_str());
}

void append_rectangle(pugi::xml_node parent, double x, double y, Size size, const char* fill) {
  auto rectangle = parent.append_child("rect");
  set(rectangle, "x", x);
  set(rectangle, "y", y);
  set(rectangle, "width", size.width);
  set(rectangle, "height", size.height);
  set(rectangle, "rx", 4);
  rectangle.append_attribute("fill").set_value(fill);
}

void append_text(pugi::xml_node parent, double x, double y, const std::string& text) {
  auto element = parent.append_child("text");
  set(element, "x", x);
  set(element, "y", y);
  element.text().set(text.c_str());
}

void draw_rank(pugi::xml_node parent, const Box& box, double x, double y) {
  auto group = parent.append_child("g");
  group.append_attribute("class").set_value("rank");
  group.append_child("title").text().set(
      fmt::format("rank {}{}{}", box.rank, box.title.empty() ? "" : " on ", box.title).c_str());
  append_rectangle(group, x, y, box.size, "#ffffff");
  const std::string number = std::to_string(box.rank);
  append_text(group, x + (box.size.width - letter_width * static_cast<double>(number.size())) / 2, y + 16, number);
}

void draw(pugi::xml_node parent, const Hierarchy& hierarchy, const Box& box, double x, double y) {
  if (box.branch == nullptr) return draw_rank(parent, box, x, y);
  auto group = parent.append_child("g");
  group.append_attribute("class").set_value("group");
  append_rectangle(group, x, y, box.size, colour_of(hierarchy.levels[box.branch->level].link));
  append_text(group, x + gap, y + 16, box.title);
  if (!box.remark.empty()) append_text(group, x + gap, y + title_height + 14, box.remark);
  std::vector<double> widths, heights;
  measure_grid(box, widths, heights);
  double below = y + head_height(box) + gap;
  for (std::size_t row = 0; row < heights.size(); ++row) {
    double right = x + gap;
    for (std::size_t column = 0; column < box.columns; ++column) {
      const std::size_t index = row * box.columns + column;
      if (index >= box.inside.size()) break;
      draw(group, hierarchy, box.inside[index], right, below);
      right += widths[column] + gap;
    }
    below += heights[row] + gap;
  }
}

/// What the colours mean. Returns its width.
double draw_legend(pugi::xml_node parent, double y) {
  double x = gap;
  for (const LinkKind link : {LinkKind::shared_cache, LinkKind::shared_memory, LinkKind::network}) {
    const std::string name = to_text(link);
    append_rectangle(parent, x, y + 6, {14, 14}, colour_of(link));
    append_text(parent, x + 20, y + 17, name);
    x += 20 + letter_width * static_cast<double>(name.size()) + 2 * gap;
  }
  return x;
}

} // namespace

std::string to_svg(const Hierarchy& hierarchy, std::span<const std::string> labels, const Remarks& remarks,
                   std::span<const std::string> lines) {
  Branch outermost;
  Box picture = rank_box(0, labels);
  if (!hierarchy.levels.empty()) {
    outermost = tree_of(hierarchy, labels, remarks);
    picture = box_of(hierarchy, outermost, labels);
  }
  pugi::xml_document document;
  auto svg = document.append_child("svg");
  svg.append_attribute("xmlns").set_value("http://www.w3.org/2000/svg");
  auto size = svg.append_attribute("width");
  auto height = svg.append_attribute("height");
  svg.append_attribute("font-family").set_value("monospace");
  svg.append_attribute("font-size").set_value("11");
  svg.append_child("style").text().set("rect { stroke: #777777; }");
  draw(svg, hierarchy, picture, gap, gap);
  double width = std::max(picture.size.width + 2 * gap, draw_legend(svg, picture.size.height + 2 * gap));
  double bottom = picture.size.height + 2 * gap + legend_height;
  for (const std::string& line : lines) {
    const std::string shown = whole_line(line);
    append_text(svg, gap, bottom + 12, shown);
    width = std::max(width, 2 * gap + letter_width * static_cast<double>(shown.size()));
    bottom += title_height;
  }
  size.set_value(fmt::format("{:.6g}", width).c_str());
  height.set_value(fmt::format("{:.6g}", bottom).c_str());
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

} // namespace strata::topo
