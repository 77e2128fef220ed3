// SPDX-License-Identifier: BSD-3-Clause
#include "type/type.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace strata::type {
namespace {

std::vector<Element> all_elements() {
  std::vector<Element> elements;
  for (std::size_t i = 0; i < element_kinds; ++i)
    elements.push_back(static_cast<Element>(i));
  return elements;
}

std::vector<Operation> all_operations() {
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < operation_kinds; ++i)
    operations.push_back(static_cast<Operation>(i));
  return operations;
}

TEST(Type, KnowsTheBytesOfEveryElement) {
  EXPECT_EQ(bytes_of(Element::int8), 1u);
  EXPECT_EQ(bytes_of(Element::uint8), 1u);
  EXPECT_EQ(bytes_of(Element::int16), 2u);
  EXPECT_EQ(bytes_of(Element::uint16), 2u);
  EXPECT_EQ(bytes_of(Element::int32), 4u);
  EXPECT_EQ(bytes_of(Element::uint32), 4u);
  EXPECT_EQ(bytes_of(Element::int64), 8u);
  EXPECT_EQ(bytes_of(Element::uint64), 8u);
  EXPECT_EQ(bytes_of(Element::float16), 2u);
  EXPECT_EQ(bytes_of(Element::bfloat16), 2u);
  EXPECT_EQ(bytes_of(Element::float32), 4u);
  EXPECT_EQ(bytes_of(Element::float64), 8u);
}

TEST(Type, FindsEveryElementByItsOwnName) {
  std::set<std::string_view> names;
  for (const Element element : all_elements()) {
    EXPECT_EQ(element_named(name_of(element)), element) << name_of(element);
    names.insert(name_of(element));
  }
  EXPECT_EQ(names.size(), element_kinds);
}

TEST(Type, FindsEveryOperationByItsOwnName) {
  std::set<std::string_view> names;
  for (const Operation operation : all_operations()) {
    EXPECT_EQ(operation_named(name_of(operation)), operation) << name_of(operation);
    names.insert(name_of(operation));
  }
  EXPECT_EQ(names.size(), operation_kinds);
}

TEST(Type, NamesAreWhatTheManualSays) {
  EXPECT_EQ(name_of(Element::uint16), "uint16");
  EXPECT_EQ(name_of(Element::bfloat16), "bfloat16");
  EXPECT_EQ(name_of(Operation::product), "product");
  EXPECT_EQ(name_of(Operation::logical_xor), "logical_xor");
  EXPECT_EQ(name_of(Operation::bitwise_and), "bitwise_and");
}

TEST(Type, TakesTheNamesOfCForFloats) {
  EXPECT_EQ(element_named("float"), Element::float32);
  EXPECT_EQ(element_named("double"), Element::float64);
}

TEST(Type, RefusesNamesThatItDoesNotKnow) {
  for (const std::string_view name : {"", "float3", "float322", "Float32", "int", "long double", " int8"})
    EXPECT_FALSE(element_named(name)) << name;
  for (const std::string_view name : {"", "summ", "SUM", "min", "replace"})
    EXPECT_FALSE(operation_named(name)) << name;
}

// MPI 4.0, section 6.9.2: MPI_MAX, MPI_MIN, MPI_SUM and MPI_PROD for C integers and floating point, logical and bitwise
// operations for C integers only.
TEST(Type, DefinesOperationsAsTheTableOfTheStandardDoes) {
  const std::set<Element> floating{Element::float16, Element::bfloat16, Element::float32, Element::float64};
  const std::set<Operation> arithmetic{Operation::sum, Operation::product, Operation::minimum, Operation::maximum};
  for (const Element element : all_elements())
    for (const Operation operation : all_operations())
      EXPECT_EQ(is_defined(element, operation), arithmetic.count(operation) == 1 || floating.count(element) == 0)
          << name_of(operation) << " of " << name_of(element);
}

} // namespace
} // namespace strata::type
