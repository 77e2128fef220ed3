// SPDX-License-Identifier: BSD-3-Clause
#include "hier/composition.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::hier {
namespace {

constexpr std::string_view shape_names[] = {"scatter", "leader", "exchange"};

bool has_forms(const coll::Algorithm& algorithm, Shape shape) {
  switch (shape) {
  case Shape::scatter:
    return algorithm.reduce_scatter && algorithm.all_gather;
  case Shape::leader:
    return algorithm.reduce && algorithm.broadcast;
  case Shape::exchange:
    return static_cast<bool>(algorithm.all_reduce);
  }
  return false;
}

std::string known_names() {
  std::string names;
  for (const coll::Algorithm& row : coll::registry())
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

Shape shape_without_name(const coll::Algorithm& algorithm, bool outermost) {
  if (has_forms(algorithm, Shape::scatter)) return Shape::scatter;
  return outermost ? Shape::exchange : Shape::leader;
}

Result<LevelPlan> level_from(std::string_view word, bool outermost) {
  const std::size_t dot = word.find('.');
  const std::string_view name = word.substr(0, dot);
  LevelPlan plan;
  plan.algorithm = coll::find(name);
  if (plan.algorithm == nullptr)
    return argument_error(fmt::format("no algorithm is called '{}' (there are {})", printable(name), known_names()));
  plan.shape = shape_without_name(*plan.algorithm, outermost);
  if (dot == std::string_view::npos) return plan;
  const std::string_view shape = word.substr(dot + 1);
  const auto* found = std::find(std::begin(shape_names), std::end(shape_names), shape);
  if (found == std::end(shape_names))
    return argument_error(fmt::format("'{}' is no shape of a level (scatter, leader or exchange)", printable(shape)));
  plan.shape = static_cast<Shape>(found - shape_names);
  return plan;
}

} // namespace

std::string to_text(const Composition& composition) {
  std::string text;
  for (const LevelPlan& level : composition.levels) {
    if (!text.empty()) text += '+';
    text += level.algorithm->name;
    if (level.shape != Shape::scatter) text += fmt::format(".{}", shape_names[static_cast<std::size_t>(level.shape)]);
  }
  return text;
}

Result<Composition> composition_from(const std::string& text, const topo::Hierarchy& hierarchy) {
  std::vector<std::string_view> words;
  for (std::string_view part : split(text, '+'))
    for (std::string_view word : split(part, ','))
      words.push_back(trim(word));
  const std::size_t levels = hierarchy.levels.size();
  if (words.size() != 1 && words.size() != levels)
    return argument_error(fmt::format("'{}' names {} levels, but there {} {} (give one name, or one per level)",
                                      printable(text), words.size(), levels == 1 ? "is" : "are", levels));
  Composition composition;
  for (std::size_t l = 0; l < std::max<std::size_t>(1, levels); ++l) {
    Result<LevelPlan> level = level_from(words.size() == 1 ? words[0] : words[l], l + 1 >= levels);
    if (!level) return Error{level.error().kind, fmt::format("level {}: {}", l, level.error().message)};
    if (l < levels) composition.levels.push_back(*level); // a rank that is alone has none
  }
  if (Status fits = check(composition, hierarchy); !fits) return fits.error();
  return composition;
}

std::vector<const coll::Form*> forms_of(const LevelPlan& plan) {
  switch (plan.shape) {
  case Shape::scatter:
    return {&plan.algorithm->reduce_scatter, &plan.algorithm->all_gather};
  case Shape::leader:
    return {&plan.algorithm->reduce, &plan.algorithm->broadcast};
  case Shape::exchange:
    return {&plan.algorithm->all_reduce};
  }
  return {};
}

Status check(const Composition& composition, const topo::Hierarchy& hierarchy) {
  if (composition.levels.size() != hierarchy.levels.size())
    return argument_error(fmt::format("a composition of {} levels for a hierarchy of {}", composition.levels.size(),
                                      hierarchy.levels.size()));
  for (std::size_t l = 0; l < composition.levels.size(); ++l) {
    const LevelPlan& plan = composition.levels[l];
    const std::string_view shape = shape_names[static_cast<std::size_t>(plan.shape)];
    if (plan.shape == Shape::exchange && l + 1 != composition.levels.size())
      return argument_error(
          fmt::format("level {}: {}.exchange is for the outermost level only", l, plan.algorithm->name));
    if (!has_forms(*plan.algorithm, plan.shape))
      return argument_error(fmt::format("level {}: {} has no {} form", l, plan.algorithm->name, shape));
  }
  return ok();
}

} // namespace strata::hier
