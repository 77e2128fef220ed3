// SPDX-License-Identifier: BSD-3-Clause
#include "api/call.h"

#include <fmt/format.h>

#include <limits>

namespace strata::api {
namespace {

// The C enumerations are the library's own, in the same order.
static_assert(STRATA_FLOAT64 == static_cast<int>(type::Element::float64));
static_assert(STRATA_FLOAT16 == static_cast<int>(type::Element::float16));
static_assert(STRATA_BITWISE_XOR == static_cast<int>(type::Operation::bitwise_xor));
static_assert(STRATA_MAXIMUM == static_cast<int>(type::Operation::maximum));

/// Whether two ranges of memory share a byte without being the same.
bool overlap_partly(const void* one, const void* other, std::size_t bytes) {
  const auto a = reinterpret_cast<std::uintptr_t>(one), b = reinterpret_cast<std::uintptr_t>(other);
  return a != b && (a < b ? b - a : a - b) < bytes;
}

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

} // namespace

Result<comm::Call> checked_call(const void* send, void* receive, std::size_t count, enum strata_element element,
                                enum strata_operation operation) {
  const auto element_number = static_cast<unsigned>(element), operation_number = static_cast<unsigned>(operation);
  if (element_number >= type::element_kinds)
    return argument_error(fmt::format("element is {}, which is none of enum strata_element", element_number));
  if (operation_number >= type::operation_kinds)
    return argument_error(fmt::format("operation is {}, which is none of enum strata_operation", operation_number));
  comm::Call call;
  call.element = static_cast<type::Element>(element_number);
  call.operation = static_cast<type::Operation>(operation_number);
  if (!type::is_defined(call.element, call.operation))
    return argument_error(fmt::format("operation {} is not defined for elements of {}", type::name_of(call.operation),
                                      type::name_of(call.element)));
  const std::size_t element_bytes = type::bytes_of(call.element);
  if (count > std::numeric_limits<std::size_t>::max() / 2 / element_bytes)
    return argument_error(fmt::format("count is {}, which is more than memory can hold", count));
  if (count == 0) return call;
  if (receive == nullptr) return argument_error("receive is NULL");
  if (send == nullptr) return argument_error("send is NULL; STRATA_IN_PLACE takes the input from receive");
  call.input = send == STRATA_IN_PLACE ? receive : send;
  call.output = receive;
  call.elements = static_cast<std::int64_t>(count);
  if (overlap_partly(call.input, receive, count * element_bytes)) return argument_error("send and receive overlap");
  if (!is_aligned(call.input, element_bytes) || !is_aligned(receive, element_bytes))
    return argument_error(fmt::format("send and receive must be aligned to {} bytes, as elements of {} are",
                                      element_bytes, type::name_of(call.element)));
  return call;
}

} // namespace strata::api
