// SPDX-License-Identifier: BSD-3-Clause
// Element types and reduction operations: the closed set that strata's own kernels know.
//
// MPI datatypes are classed into these by kind and size (MPI_INT and MPI_INTEGER are both int32), because ranks
// may legally use different names for equal types in one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace strata::type {

enum class Element : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,  ///< IEEE 754 binary16; accumulated in float32, rounded once per reduction step.
  bfloat16, ///< Upper half of a float32; accumulated in float32, rounded once per reduction step.
  float32,
  float64,
};
inline constexpr std::size_t element_kinds = 12;

enum class Operation : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
};
inline constexpr std::size_t operation_kinds = 10;

/// Bytes of one element: 1, 2, 4 or 8.
std::size_t bytes_of(Element element);

/// The name as options and tools spell it: "float32", "sum", …
std::string_view name_of(Element element);
std::string_view name_of(Operation operation);

/// The inverse of name_of; empty for an unknown name. Also takes the C names float and double.
std::optional<Element> element_named(std::string_view name);
std::optional<Operation> operation_named(std::string_view name);

/// Whether MPI defines the operation on this type (MPI 4.0, 6.9.2): bitwise and logical ones on integers only.
bool is_defined(Element element, Operation operation);

} // namespace strata::type
