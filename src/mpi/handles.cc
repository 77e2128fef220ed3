// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles.h"

namespace strata::mpi {

using type::Element;
using type::Operation;

// 's' signed, 'u' unsigned, 'f' floating point; the size decides the rest. MPI_CHAR, MPI_WCHAR and MPI_CHARACTER are
// for text and take part in no reduction; MPI_BYTE only in bitwise ones, which is_defined() cannot tell from uint8, so
// it goes to the MPI library, as do the logical types, whose true is not always 1.
void Handles::add(MPI_Datatype datatype, char kind, Language language) {
  if (datatype == MPI_DATATYPE_NULL || count_ == types_.size()) return;
  int bytes = 0;
  if (PMPI_Type_size(datatype, &bytes) != MPI_SUCCESS) return;
  const bool is_signed = kind == 's';
  std::optional<Element> element;
  if (kind == 'f') {
    if (bytes == 4) element = Element::float32;
    if (bytes == 8) element = Element::float64;
  } else {
    if (bytes == 1) element = is_signed ? Element::int8 : Element::uint8;
    if (bytes == 2) element = is_signed ? Element::int16 : Element::uint16;
    if (bytes == 4) element = is_signed ? Element::int32 : Element::uint32;
    if (bytes == 8) element = is_signed ? Element::int64 : Element::uint64;
  }
  if (element) types_[count_++] = {datatype, *element, language};
}

void Handles::collect() {
  count_ = 0;
  for (MPI_Datatype datatype : {MPI_FLOAT, MPI_DOUBLE})
    add(datatype, 'f', Language::c); // the most used first
  for (MPI_Datatype datatype : {MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT8_T, MPI_INT16_T,
                                MPI_INT32_T, MPI_INT64_T})
    add(datatype, 's', Language::c);
  for (MPI_Datatype datatype : {MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_CHAR,
                                MPI_UNSIGNED_SHORT, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
    add(datatype, 'u', Language::c);
  for (MPI_Datatype datatype :
       {MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
    add(datatype, 's', Language::other);
  for (MPI_Datatype datatype : {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
    add(datatype, 'f', Language::other);
}

std::optional<Element> Handles::element(MPI_Datatype datatype, Operation operation) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const Entry& entry = types_[i];
    if (entry.datatype != datatype) continue;
    const bool logical = operation == Operation::logical_and || operation == Operation::logical_or ||
                         operation == Operation::logical_xor;
    if ((logical && entry.language != Language::c) || !type::is_defined(entry.element, operation)) return std::nullopt;
    return entry.element;
  }
  return std::nullopt;
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
