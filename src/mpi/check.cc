// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check.h"

#include "base/log.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

namespace strata::mpi {
namespace {

/// One rank's arguments in terms that do not depend on handles. Plain bytes.
struct Signature {
  std::int64_t count;
  std::int64_t type_bytes;
  char operation[24];
  char type[72]; ///< the kind, for types that MPI calls equal under several names; else the name, or "derived"
};

template <std::size_t n>
void put(char (&field)[n], const std::string& text) {
  std::strncpy(field, text.c_str(), n - 1);
}

std::string name_of(MPI_Datatype datatype) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  if (PMPI_Type_get_envelope(datatype, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return "invalid";
  if (combiner != MPI_COMBINER_NAMED) return "derived";
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  PMPI_Type_get_name(datatype, name, &length);
  return name;
}

Signature signature_of(const State& state, const CheckedArguments& given) {
  Signature mine{};
  mine.count = given.count;
  const auto operation = state.handles.operation(given.operation);
  put(mine.operation, operation                        ? std::string(type::name_of(*operation))
                      : given.operation == MPI_MINLOC  ? "minloc"
                      : given.operation == MPI_MAXLOC  ? "maxloc"
                      : given.operation == MPI_OP_NULL ? "none"
                                                       : "user-defined");
  if (given.datatype == MPI_DATATYPE_NULL) {
    put(mine.type, "none");
    return mine;
  }
  MPI_Count bytes = 0;
  PMPI_Type_size_x(given.datatype, &bytes);
  mine.type_bytes = bytes;
  const auto items = state.handles.items(given.datatype);
  put(mine.type, items ? std::string(type::name_of(items->element)) : name_of(given.datatype));
  return mine;
}

/// The class of the error that `other` makes, and what to say; MPI_SUCCESS if they agree. Of a user-defined operation
/// MPI asks equal lengths only.
int difference(const Signature& first, const Signature& other, std::string& text) {
  if (std::strcmp(first.operation, other.operation) != 0) {
    text = fmt::format("the operation {}, rank 0 {}", other.operation, first.operation);
    return MPI_ERR_OP;
  }
  const bool user = std::strcmp(first.operation, "user-defined") == 0;
  if (!user && (std::strcmp(first.type, other.type) != 0 || first.type_bytes != other.type_bytes)) {
    text = fmt::format("the type {} ({} bytes), rank 0 {} ({} bytes)", other.type, other.type_bytes, first.type,
                       first.type_bytes);
    return MPI_ERR_TYPE;
  }
  if (user ? first.count * first.type_bytes == other.count * other.type_bytes : first.count == other.count)
    return MPI_SUCCESS;
  text = user ? fmt::format("{} elements of {} bytes, rank 0 {} of {}", other.count, other.type_bytes, first.count,
                            first.type_bytes)
              : fmt::format("the count {}, rank 0 {}", other.count, first.count);
  return MPI_ERR_COUNT;
}

} // namespace

int compare_arguments(State& state, CommunicatorRecord& record, const CheckedArguments& mine) {
  ++record.checked_calls;
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(record.communicator, &rank);
  PMPI_Comm_size(record.communicator, &ranks);
  std::vector<Signature> all(static_cast<std::size_t>(ranks));
  const Signature own = signature_of(state, mine);
  const int gathered =
      PMPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, record.communicator);
  if (gathered != MPI_SUCCESS) return gathered;
  int error = MPI_SUCCESS, named = 0;
  for (int other = 1; other < ranks; ++other) {
    std::string text;
    const int found = difference(all.front(), all[static_cast<std::size_t>(other)], text);
    if (found == MPI_SUCCESS) continue;
    if (error == MPI_SUCCESS) error = found;
    constexpr int most_named = 8; // more would hide them
    if (rank == 0 && named++ < most_named)
      log_line(fmt::format("MPI_Allreduce, call {} on a communicator of {} ranks: rank {} gives {}",
                           record.checked_calls, ranks, other, text));
  }
  if (error == MPI_SUCCESS) return error;
  PMPI_Barrier(record.communicator); // a fatal handler on another rank would end rank 0 before it has said so
  PMPI_Comm_call_errhandler(record.communicator, error);
  return error;
}

} // namespace strata::mpi
