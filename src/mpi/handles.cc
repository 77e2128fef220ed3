// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles.h"

#include <algorithm>

namespace strata::mpi {

using type::Element;
using type::Operation;

// 's' signed, 'u' unsigned, 'f' floating point, 'h' the same of 16 bits, 'z' complex; the size decides the rest.
// MPI_CHAR, MPI_WCHAR and MPI_CHARACTER are for text and take part in no reduction; Fortran's logical types go to the
// MPI library, because their true is not always 1.
void Handles::add(std::initializer_list<MPI_Datatype> datatypes, char kind, Class of) {
  for (MPI_Datatype datatype : datatypes) {
    if (datatype == MPI_DATATYPE_NULL || count_ == types_.size()) continue; // not in this build of the MPI library
    int bytes = 0;
    if (PMPI_Type_size(datatype, &bytes) != MPI_SUCCESS) continue;
    std::optional<Element> element;
    const bool is_signed = kind == 's';
    const bool whole = is_signed || kind == 'u';
    if (kind == 'z') bytes /= 2;
    if (whole && bytes == 1) element = is_signed ? Element::int8 : Element::uint8;
    if (whole && bytes == 2) element = is_signed ? Element::int16 : Element::uint16;
    if (whole && bytes == 4) element = is_signed ? Element::int32 : Element::uint32;
    if (whole && bytes == 8) element = is_signed ? Element::int64 : Element::uint64;
    if (kind == 'h' && bytes == 2) element = Element::float16;
    if ((kind == 'f' || kind == 'z') && bytes == 4) element = Element::float32;
    if ((kind == 'f' || kind == 'z') && bytes == 8) element = Element::float64;
    if (element) types_[count_++] = {datatype, {*element, static_cast<std::int8_t>(kind == 'z' ? 2 : 1)}, of};
  }
}

void Handles::collect() {
  count_ = 0;
  add({MPI_FLOAT, MPI_DOUBLE}, 'f', Class::c_number); // the most used first
  add({MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T},
      's', Class::c_number);
  add({MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UINT8_T,
       MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T},
      'u', Class::c_number);
  add({MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}, 's',
      Class::other_number);
  add({MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8}, 'f', Class::other_number);
  add({MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16,
       MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX},
      'z', Class::complex);
  add({MPI_C_BOOL, MPI_CXX_BOOL}, 'u', Class::boolean);
  add({MPI_BYTE}, 'u', Class::byte);
#ifdef MPIX_C_FLOAT16
  add({MPIX_C_FLOAT16}, 'h', Class::other_number);
#endif
}

bool Handles::is_defined(Class of, Element element, Operation operation) {
  const bool logical =
      operation == Operation::logical_and || operation == Operation::logical_or || operation == Operation::logical_xor;
  const bool bitwise =
      operation == Operation::bitwise_and || operation == Operation::bitwise_or || operation == Operation::bitwise_xor;
  switch (of) {
  case Class::c_number:
    return type::is_defined(element, operation);
  case Class::other_number:
    return !logical && type::is_defined(element, operation);
  case Class::complex:
    return operation == Operation::sum;
  case Class::boolean:
    return logical;
  case Class::byte:
    return bitwise;
  }
  return false;
}

std::optional<Items> Handles::items(MPI_Datatype datatype, Operation operation) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const Entry& entry = types_[i];
    if (entry.datatype != datatype) continue;
    return is_defined(entry.of, entry.items.element, operation) ? std::optional(entry.items) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Items> Handles::items(MPI_Datatype datatype) const {
  const auto end = types_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto found = std::find_if(types_.begin(), end, [&](const Entry& entry) { return entry.datatype == datatype; });
  return found != end ? std::optional(found->items) : std::nullopt;
}

std::optional<Operation> Handles::operation(MPI_Op operation) const {
  if (operation == MPI_SUM) return Operation::sum;
  if (operation == MPI_MAX) return Operation::maximum;
  if (operation == MPI_MIN) return Operation::minimum;
  if (operation == MPI_PROD) return Operation::product;
  if (operation == MPI_LAND) return Operation::logical_and;
  if (operation == MPI_LOR) return Operation::logical_or;
  if (operation == MPI_LXOR) return Operation::logical_xor;
  if (operation == MPI_BAND) return Operation::bitwise_and;
  if (operation == MPI_BOR) return Operation::bitwise_or;
  if (operation == MPI_BXOR) return Operation::bitwise_xor;
  return std::nullopt;
}

} // namespace strata::mpi
