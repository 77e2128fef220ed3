// SPDX-License-Identifier: BSD-3-Clause
// Classes the MPI library's predefined datatypes and operations by kind and size.
#pragma once

#include "type/type.h"

#include <mpi.h>

#include <array>
#include <initializer_list>
#include <optional>

namespace strata::mpi {

/// What an item of a datatype is to strata: a complex number is two.
struct Items {
  type::Element element{};
  std::int8_t elements = 1;
};

class Handles {
public:
  /// Asks the MPI library for the sizes of its types; after MPI_Init.
  void collect();

  /// The elements as which strata would reduce this datatype with this operation. Nothing for derived types, those that
  /// strata has no kernel for, and pairs that MPI does not define (MPI 4.0, 6.9.2): the MPI library says so itself.
  std::optional<Items> items(MPI_Datatype datatype, type::Operation operation) const;
  /// The same for any operation: what MPI calls equal types under several names.
  std::optional<Items> items(MPI_Datatype datatype) const;
  /// Nothing for user operations and those that strata has no kernel for.
  std::optional<type::Operation> operation(MPI_Op operation) const;

private:
  /// On what MPI defines the operations (MPI 4.0, 6.9.2), beside what the element tells.
  enum class Class : std::uint8_t {
    c_number,     ///< of C: all
    other_number, ///< of Fortran or MPI: not the logical ones
    complex,      ///< sums (products too, but those are the MPI library's)
    boolean,      ///< the logical ones
    byte,         ///< the bitwise ones
  };
  void add(std::initializer_list<MPI_Datatype> datatypes, char kind, Class of);
  static bool is_defined(Class of, type::Element element, type::Operation operation);

  struct Entry {
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    Items items;
    Class of{};
  };
  std::array<Entry, 96> types_{};
  std::size_t count_ = 0;
};

} // namespace strata::mpi
