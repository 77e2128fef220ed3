// SPDX-License-Identifier: BSD-3-Clause
// Two diagrams over the size, which goes by powers of two: above, both medians by powers of ten; below, their ratio by
// powers of two, with the band of its middle four fifths and a line at one.
#include "base/options.h"
#include "base/text.h"
#include "tools/perf.h"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace strata::tools {
namespace {

constexpr double width = 860, left = 76, right = 24; // pixels
constexpr const char* native_colour = "#8a8f98";
constexpr const char* strata_colour = "#1f6feb";
constexpr double widest_band = 4; // times the medians: one disturbed batch must not flatten all the rest

/// One axis: the logarithm of a value, from the low end to the high end in pixels.
struct Axis {
  double low = 0, high = 1; ///< logarithms
  double from = 0, to = 1;  ///< pixels
  double base = 2;
  double log_of(double value) const { return std::log(value) / std::log(base); }
  double place_of_log(double value) const { return from + (value - low) / (high - low) * (to - from); }
  double place(double value) const { return place_of_log(log_of(value)); }
};

struct Drawing {
  pugi::xml_document document;
  pugi::xml_node root;
  Axis size;
};

std::string pixels(double value) { return fmt::format("{:.1f}", value); }

void line(pugi::xml_node in, double x1, double y1, double x2, double y2, const char* colour, const char* dashes) {
  pugi::xml_node node = in.append_child("line");
  const std::pair<const char*, double> ends[] = {{"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}};
  for (const auto& [name, value] : ends)
    node.append_attribute(name) = pixels(value).c_str();
  node.append_attribute("stroke") = colour;
  if (*dashes != '\0') node.append_attribute("stroke-dasharray") = dashes;
}

void words(pugi::xml_node in, double x, double y, const char* anchor, const std::string& text,
           const char* colour = "#333333") {
  pugi::xml_node node = in.append_child("text");
  node.append_attribute("x") = pixels(x).c_str();
  node.append_attribute("y") = pixels(y).c_str();
  node.append_attribute("text-anchor") = anchor;
  node.append_attribute("fill") = colour;
  node.append_child(pugi::node_pcdata).set_value(text.c_str());
}

void curve(pugi::xml_node in, const std::vector<std::pair<double, double>>& points, const char* colour) {
  std::string places;
  for (const auto& [x, y] : points)
    places += fmt::format("{:.1f},{:.1f} ", x, y);
  pugi::xml_node node = in.append_child("polyline");
  node.append_attribute("points") = places.c_str();
  node.append_attribute("fill") = "none";
  node.append_attribute("stroke") = colour;
  node.append_attribute("stroke-width") = "2";
  for (const auto& [x, y] : points) {
    pugi::xml_node dot = in.append_child("circle");
    dot.append_attribute("cx") = pixels(x).c_str();
    dot.append_attribute("cy") = pixels(y).c_str();
    dot.append_attribute("r") = "2.5";
    dot.append_attribute("fill") = colour;
  }
}

/// The ends of an axis that shows these values, on whole powers of its base.
Axis axis_over(double least, double most, double base, double from, double to) {
  Axis axis;
  axis.base = base;
  axis.from = from;
  axis.to = to;
  axis.low = std::floor(axis.log_of(least));
  axis.high = std::max(axis.low + 1, std::ceil(axis.log_of(most)));
  return axis;
}

std::string duration(double seconds) {
  if (seconds < 0.99e-3) return fmt::format("{:g} us", std::round(seconds * 1e8) / 1e2);
  if (seconds < 0.99) return fmt::format("{:g} ms", std::round(seconds * 1e5) / 1e2);
  return fmt::format("{:g} s", seconds);
}

void grid_of_sizes(Drawing& drawing, double top, double bottom, bool labelled) {
  const Axis& axis = drawing.size;
  const double step = std::max(1.0, std::ceil((axis.high - axis.low) / 13));
  for (double power = axis.low; power <= axis.high + 1e-9; power += step) {
    const double x = axis.place_of_log(power);
    line(drawing.root, x, top, x, bottom, "#e6e8eb", "");
    if (labelled)
      words(drawing.root, x, bottom + 18, "middle", format_bytes(static_cast<std::uint64_t>(std::exp2(power))));
  }
}

void grid_of_values(Drawing& drawing, const Axis& axis, std::string (*label)(double)) {
  const double step = std::max(1.0, std::ceil((axis.high - axis.low) / 8));
  for (double power = axis.low; power <= axis.high + 1e-9; power += step) {
    const double y = axis.place_of_log(power);
    line(drawing.root, left, y, width - right, y, "#e6e8eb", "");
    words(drawing.root, left - 8, y + 4, "end", label(std::pow(axis.base, power)));
  }
}

void draw_times(Drawing& drawing, const PerfRun& run, double top, double bottom) {
  double least = 1e9, most = 0;
  for (const PerfRow& row : run.rows) {
    least = std::min({least, row.native.median, row.strata.median});
    most = std::max({most, row.native.median, row.strata.median});
  }
  const Axis axis = axis_over(std::max(least, 1e-9), std::max(most, 1e-9), 10, bottom, top);
  grid_of_sizes(drawing, top, bottom, false);
  grid_of_values(drawing, axis, duration);
  std::vector<std::pair<double, double>> native, strata;
  for (const PerfRow& row : run.rows) {
    const double x = drawing.size.place(static_cast<double>(row.bytes));
    native.emplace_back(x, axis.place(std::max(row.native.median, 1e-9)));
    strata.emplace_back(x, axis.place(std::max(row.strata.median, 1e-9)));
  }
  curve(drawing.root, native, native_colour);
  curve(drawing.root, strata, strata_colour);
  words(drawing.root, left + 12, top + 18, "start", "MPI library", native_colour);
  words(drawing.root, left + 12, top + 36, "start", "strata", strata_colour);
}

void draw_ratios(Drawing& drawing, const PerfRun& run, double top, double bottom) {
  double least = 1, most = 1, lowest = 1e9, highest = 1e-9;
  for (const PerfRow& row : run.rows) {
    least = std::min(least, row.ratio.median);
    most = std::max(most, row.ratio.median);
    lowest = std::min(lowest, row.ratio.low);
    highest = std::max(highest, row.ratio.high);
  }
  least = std::max({std::min(least, lowest), least / widest_band, 1e-3});
  most = std::min(std::max(most, highest), most * widest_band);
  const Axis axis = axis_over(least, most, 2, bottom, top);
  const auto place = [&](double ratio) { return axis.place(std::clamp(ratio, least, most)); };
  grid_of_sizes(drawing, top, bottom, true);
  grid_of_values(drawing, axis, [](double ratio) { return fmt::format("{:g}", ratio); });
  std::string above, below;
  std::vector<std::pair<double, double>> medians;
  for (const PerfRow& row : run.rows) {
    const double x = drawing.size.place(static_cast<double>(row.bytes));
    above += fmt::format("{:.1f},{:.1f} ", x, place(row.ratio.high));
    below = fmt::format("{:.1f},{:.1f} ", x, place(row.ratio.low)) + below;
    medians.emplace_back(x, place(row.ratio.median));
  }
  pugi::xml_node band = drawing.root.append_child("polygon");
  band.append_attribute("points") = (above + below).c_str();
  band.append_attribute("fill") = strata_colour;
  band.append_attribute("fill-opacity") = "0.15";
  line(drawing.root, left, axis.place(1), width - right, axis.place(1), "#333333", "4 3");
  curve(drawing.root, medians, strata_colour);
  words(drawing.root, left, top - 10, "start", "MPI library / strata, with the 10th to 90th percentile");
}

} // namespace

Result<std::string> plot(const PerfFlags& flags, const PerfRun& run) {
  constexpr double height = 640, times_top = 56, times_bottom = 352, ratio_top = 400, ratio_bottom = 584;
  Drawing drawing;
  drawing.root = drawing.document.append_child("svg");
  drawing.root.append_attribute("xmlns") = "http://www.w3.org/2000/svg";
  drawing.root.append_attribute("viewBox") = fmt::format("0 0 {:g} {:g}", width, height).c_str();
  drawing.root.append_attribute("width") = pixels(width).c_str();
  drawing.root.append_attribute("height") = pixels(height).c_str();
  drawing.root.append_attribute("font-family") = "sans-serif";
  drawing.root.append_attribute("font-size") = "12";
  pugi::xml_node ground = drawing.root.append_child("rect");
  ground.append_attribute("width") = "100%";
  ground.append_attribute("height") = "100%";
  ground.append_attribute("fill") = "#ffffff";
  const auto [least, most] = std::minmax_element(flags.sizes.begin(), flags.sizes.end());
  drawing.size = axis_over(static_cast<double>(*least), static_cast<double>(*most), 2, left, width - right);
  words(drawing.root, left, 30, "start",
        fmt::format("all-reduce of {} {}, {} ranks on {} {}, {}", type::name_of(flags.element),
                    type::name_of(flags.operation), run.ranks, run.nodes, run.nodes == 1 ? "node" : "nodes",
                    printable(run.library)));
  draw_times(drawing, run, times_top, times_bottom);
  draw_ratios(drawing, run, ratio_top, ratio_bottom);
  words(drawing.root, (left + width - right) / 2, ratio_bottom + 40, "middle", "bytes of the vector");
  std::ostringstream text;
  drawing.document.save(text, "  ");
  return text.str();
}

} // namespace strata::tools
