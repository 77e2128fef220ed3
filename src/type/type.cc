// SPDX-License-Identifier: BSD-3-Clause
#include "type/type.h"

#include <array>

namespace strata::type {
namespace {

enum class Family : std::uint8_t { integer, floating };

struct ElementRow {
  std::string_view name;
  std::size_t bytes;
  Family family;
};

/// In the order of Element.
constexpr std::array<ElementRow, element_kinds> elements{{
    {"int8", 1, Family::integer},
    {"uint8", 1, Family::integer},
    {"int16", 2, Family::integer},
    {"uint16", 2, Family::integer},
    {"int32", 4, Family::integer},
    {"uint32", 4, Family::integer},
    {"int64", 8, Family::integer},
    {"uint64", 8, Family::integer},
    {"float16", 2, Family::floating},
    {"bfloat16", 2, Family::floating},
    {"float32", 4, Family::floating},
    {"float64", 8, Family::floating},
}};

/// In the order of Operation.
constexpr std::array<std::string_view, operation_kinds> operations{
    "sum",        "product",     "minimum",     "maximum",    "logical_and",
    "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
};

const ElementRow& row_of(Element element) { return elements[static_cast<std::size_t>(element)]; }

} // namespace

std::size_t bytes_of(Element element) { return row_of(element).bytes; }

std::string_view name_of(Element element) { return row_of(element).name; }

std::string_view name_of(Operation operation) { return operations[static_cast<std::size_t>(operation)]; }

std::optional<Element> element_named(std::string_view name) {
  if (name == "float") return Element::float32;
  if (name == "double") return Element::float64;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i].name == name) return static_cast<Element>(i);
  return std::nullopt;
}

std::optional<Operation> operation_named(std::string_view name) {
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (operations[i] == name) return static_cast<Operation>(i);
  return std::nullopt;
}

bool is_defined(Element element, Operation operation) {
  switch (operation) {
  case Operation::sum:
  case Operation::product:
  case Operation::minimum:
  case Operation::maximum:
    return true;
  case Operation::logical_and:
  case Operation::logical_or:
  case Operation::logical_xor:
  case Operation::bitwise_and:
  case Operation::bitwise_or:
  case Operation::bitwise_xor:
    return row_of(element).family == Family::integer;
  }
  return false;
}

} // namespace strata::type
