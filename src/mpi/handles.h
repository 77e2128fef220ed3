// SPDX-License-Identifier: BSD-3-Clause
// Classes the MPI library's predefined datatypes and operations by kind and size.
#pragma once

#include "type/type.h"

#include <mpi.h>

#include <array>
#include <optional>

namespace strata::mpi {

class Handles {
public:
  /// Asks the MPI library for the sizes of its types; after MPI_Init.
  void collect();

  /// The element as which strata would reduce this datatype with this operation. Nothing for derived types, those that
  /// strata has no kernel for, and pairs that MPI does not define (MPI 4.0, 6.9.2): the MPI library says so itself.
  std::optional<type::Element> element(MPI_Datatype datatype, type::Operation operation) const;
  /// Nothing for user operations and those that strata has no kernel for.
  std::optional<type::Operation> operation(MPI_Op operation) const;

private:
  enum class Language : std::uint8_t { c, other };
  void add(MPI_Datatype datatype, char kind, Language language);

  struct Entry {
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    type::Element element{};
    Language language{}; ///< logical operations are defined on the integers of C only
  };
  std::array<Entry, 64> types_{};
  std::size_t count_ = 0;
};

} // namespace strata::mpi
