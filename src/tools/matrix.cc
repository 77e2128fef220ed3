// SPDX-License-Identifier: BSD-3-Clause
// The colours are shades of one hue whose lightness falls with the value: they keep their order in print without colour
// and for eyes that do not tell hues apart.
#include "tools/matrix.h"

#include "base/text.h"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace strata::tools {
namespace {

constexpr double margin = 12, title_height = 22, letter = 6.7, legend_width = 240, legend_height = 46; // pixels
constexpr double wide_cell = 46, high_cell = 24, most_side = 640;
constexpr std::size_t most_with_values = 16, most_with_names = 64; ///< nodes
constexpr int shades = 24;
/// Beyond this ratio of the largest to the smallest value a linear scale shows nothing of the small ones.
constexpr double widest_linear = 50;

struct Scale {
  double least = 0, most = 1; ///< in the unit
  bool is_logarithmic = false;
  /// 0 to shades - 1.
  int shade(double value) const {
    const double part =
        is_logarithmic ? std::log(value / least) / std::log(most / least) : (value - least) / (most - least);
    return std::clamp(static_cast<int>(part * shades), 0, shades - 1);
  }
};

struct Unit {
  const char* name;
  double factor; ///< of what was measured
};

struct Panel {
  const char* title;
  const std::vector<double>& values; ///< as in LinkMatrix
  Unit unit;
  Scale scale;
};

/// From almost white by blue to almost black: the ends and middle of ColorBrewer's "Blues" (Harrower and Brewer 2003).
std::string colour_of(int shade) {
  constexpr std::array<std::array<double, 3>, 3> stops{{{239, 243, 255}, {107, 174, 214}, {8, 48, 107}}};
  const double place = 2.0 * shade / (shades - 1);
  const std::size_t stop = place < 1 ? 0 : 1;
  std::string colour = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = stops[stop][i] + (place - static_cast<double>(stop)) * (stops[stop + 1][i] - stops[stop][i]);
    colour += fmt::format("{:02x}", static_cast<int>(value));
  }
  return colour;
}

Scale scale_of(const std::vector<double>& values, double factor) {
  Scale scale{0, 0, false};
  double least = 0;
  for (const double value : values) {
    if (value <= 0) continue;
    least = least == 0 ? value * factor : std::min(least, value * factor);
    scale.most = std::max(scale.most, value * factor);
  }
  if (scale.most == 0) return {};
  scale.is_logarithmic = scale.most > widest_linear * least;
  if (scale.is_logarithmic) scale.least = least;
  return scale;
}

Panel panel_of(const char* title, const std::vector<double>& values, std::initializer_list<Unit> units) {
  const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  Unit unit = *units.begin();
  for (const Unit& larger : units)
    if (most * larger.factor >= 1) unit = larger;
  return {title, values, unit, scale_of(values, unit.factor)};
}

pugi::xml_node append(pugi::xml_node in, const char* name,
                      std::initializer_list<std::pair<const char*, double>> numbers) {
  pugi::xml_node node = in.append_child(name);
  for (const auto& [key, value] : numbers)
    node.append_attribute(key) = fmt::format("{:.6g}", value).c_str();
  return node;
}

pugi::xml_node box(pugi::xml_node in, double x, double y, double width, double height, const std::string& fill) {
  pugi::xml_node node = append(in, "rect", {{"x", x}, {"y", y}, {"width", width}, {"height", height}});
  node.append_attribute("fill") = fill.c_str();
  return node;
}

pugi::xml_node words(pugi::xml_node in, double x, double y, const char* anchor, const std::string& text) {
  pugi::xml_node node = append(in, "text", {{"x", x}, {"y", y}});
  node.append_attribute("text-anchor") = anchor;
  node.text().set(text.c_str());
  return node;
}

class Drawing {
public:
  explicit Drawing(const std::vector<std::string>& hosts) : nodes_(hosts.size()) {
    for (const std::string& host : hosts)
      names_.push_back(printable(host));
    const bool small = nodes_ <= most_with_values;
    cell_width_ = small ? wide_cell : std::max(1.0, std::min(high_cell, most_side / static_cast<double>(nodes_)));
    cell_height_ = small ? high_cell : cell_width_;
    std::size_t longest = 4;
    for (const std::string& name : names_)
      longest = std::max(longest, nodes_ <= most_with_names ? name.size() : 0);
    names_width_ = letter * static_cast<double>(longest) + margin;
    panel_width_ = names_width_ + std::max(legend_width, cell_width_ * static_cast<double>(nodes_)) + 2 * margin;
    height_ = 3 * title_height + names_width_ + cell_height_ * static_cast<double>(nodes_) + legend_height + margin;
  }

  std::string of(const std::vector<Panel>& panels) {
    pugi::xml_document document;
    pugi::xml_node svg =
        append(document, "svg", {{"width", panel_width_ * static_cast<double>(panels.size())}, {"height", height_}});
    svg.append_attribute("xmlns") = "http://www.w3.org/2000/svg";
    svg.append_attribute("font-family") = "monospace";
    svg.append_attribute("font-size") = "11";
    append_hatching(svg);
    append(svg, "rect", {{"width", panel_width_ * static_cast<double>(panels.size())}, {"height", height_}})
        .append_attribute("fill") = "#ffffff";
    for (std::size_t i = 0; i < panels.size(); ++i)
      draw(svg, panels[i], margin + panel_width_ * static_cast<double>(i));
    std::ostringstream text;
    document.save(text, "  ");
    return text.str();
  }

private:
  static void append_hatching(pugi::xml_node svg) {
    pugi::xml_node pattern = append(svg.append_child("defs"), "pattern", {{"width", 6}, {"height", 6}});
    pattern.append_attribute("id") = "hatched";
    pattern.append_attribute("patternUnits") = "userSpaceOnUse";
    box(pattern, 0, 0, 6, 6, "#ffffff");
    pugi::xml_node stroke = pattern.append_child("path");
    stroke.append_attribute("d") = "M0,6 L6,0";
    stroke.append_attribute("stroke") = "#777777";
  }

  void draw(pugi::xml_node svg, const Panel& panel, double left) const {
    pugi::xml_node group = svg.append_child("g");
    group.append_attribute("class") = "panel";
    words(group, left, title_height - 6, "start",
          fmt::format("{} in {}, from row to column", panel.title, panel.unit.name))
        .append_attribute("font-weight") = "bold";
    const double x = left + names_width_, y = 2 * title_height + names_width_;
    draw_names(group, x, y);
    for (std::size_t from = 0; from < nodes_; ++from)
      draw_row(group, panel, from, x, y + cell_height_ * static_cast<double>(from));
    draw_legend(group, panel, x, y + cell_height_ * static_cast<double>(nodes_) + title_height);
  }

  void draw_names(pugi::xml_node group, double x, double y) const {
    const std::size_t step = nodes_ <= most_with_names ? 1 : (nodes_ + 15) / 16; // then numbers of nodes
    for (std::size_t node = 0; node < nodes_; node += step) {
      const std::string& name = step == 1 ? names_[node] : std::to_string(node);
      const double middle = static_cast<double>(node) + 0.5;
      words(group, x - 6, y + cell_height_ * middle + 4, "end", name);
      const double column = x + cell_width_ * middle + 4;
      words(group, column, y - 6, "start", name).append_attribute("transform") =
          fmt::format("rotate(-90 {:.6g} {:.6g})", column, y - 6).c_str();
    }
  }

  /// Neighbours of one colour are one box where no values are shown: large pictures stay small files.
  void draw_row(pugi::xml_node group, const Panel& panel, std::size_t from, double x, double y) const {
    for (std::size_t to = 0; to < nodes_;) {
      const std::string fill = fill_of(panel, from, to);
      std::size_t end = to + 1;
      while (nodes_ > most_with_names && end < nodes_ && fill_of(panel, from, end) == fill)
        ++end;
      pugi::xml_node cell = box(group, x + cell_width_ * static_cast<double>(to), y,
                                cell_width_ * static_cast<double>(end - to), cell_height_, fill);
      cell.append_attribute("class") = from == to && end == to + 1 ? "self"
                                       : fill.starts_with('u')     ? "unmeasured"
                                                                   : "cell";
      if (nodes_ <= most_with_names && from != to) draw_value(group, cell, panel, from, to, x, y);
      to = end;
    }
  }

  void draw_value(pugi::xml_node group, pugi::xml_node cell, const Panel& panel, std::size_t from, std::size_t to,
                  double x, double y) const {
    const double value = panel.values[from * nodes_ + to] * panel.unit.factor;
    const std::string text = value > 0 ? fmt::format("{:.3g}", value) : "not measured";
    cell.append_child("title").text().set(fmt::format("{} to {}: {}{}{}", names_[from], names_[to], text,
                                                      value > 0 ? " " : "", value > 0 ? panel.unit.name : "")
                                              .c_str());
    if (nodes_ > most_with_values || value <= 0) return;
    pugi::xml_node number =
        words(group, x + cell_width_ * (static_cast<double>(to) + 0.5), y + cell_height_ / 2 + 4, "middle", text);
    number.append_attribute("fill") = panel.scale.shade(value) > shades / 2 ? "#ffffff" : "#000000";
  }

  std::string fill_of(const Panel& panel, std::size_t from, std::size_t to) const {
    if (from == to) return "#ffffff";
    const double value = panel.values[from * nodes_ + to] * panel.unit.factor;
    return value > 0 ? colour_of(panel.scale.shade(value)) : "url(#hatched)";
  }

  void draw_legend(pugi::xml_node group, const Panel& panel, double x, double y) const {
    constexpr double step = 6;
    for (int shade = 0; shade < shades; ++shade)
      box(group, x + step * shade, y, step, 12, colour_of(shade));
    words(group, x, y + 26, "start", fmt::format("{:.3g}", panel.scale.least));
    words(group, x + step * shades, y + 26, "end",
          fmt::format("{:.3g} {}{}", panel.scale.most, panel.unit.name,
                      panel.scale.is_logarithmic ? ", logarithmic" : ""));
    box(group, x + step * shades + margin, y, 12, 12, "url(#hatched)").append_attribute("stroke") = "#777777";
    words(group, x + step * shades + margin + 16, y + 10, "start", "not measured");
  }

  std::size_t nodes_;
  std::vector<std::string> names_;
  double cell_width_, cell_height_, names_width_, panel_width_, height_;
};

} // namespace

Result<std::string> matrix_svg(const std::vector<std::string>& hosts, const topo::LinkMatrix& matrix) {
  if (matrix.nodes > most_drawn_nodes)
    return Error{ErrorKind::unsupported,
                 fmt::format("{} nodes are too many for a picture ({} at most)", matrix.nodes, most_drawn_nodes)};
  return Drawing(hosts).of({panel_of("Latency", matrix.latency, {{"us", 1e6}, {"ms", 1e3}}),
                            panel_of("Bandwidth", matrix.bandwidth, {{"MB/s", 1e-6}, {"GB/s", 1e-9}})});
}

} // namespace strata::tools
