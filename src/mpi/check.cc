// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check.h"

#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
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

enum class Operations : bool { may_differ, are_equal };

/// The class of the error that `other` makes, and what to say; MPI_SUCCESS if they agree. Of a user-defined operation
/// MPI asks equal lengths only.
int difference(const Signature& first, const Signature& other, std::string& text,
               Operations operations = Operations::are_equal) {
  if (operations == Operations::are_equal && std::strcmp(first.operation, other.operation) != 0) {
    text = fmt::format("the operation {}, rank 0 {}", other.operation, first.operation);
    return MPI_ERR_OP;
  }
  const bool user =
      std::strcmp(first.operation, "user-defined") == 0 || std::strcmp(other.operation, "user-defined") == 0;
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

/// What the ranks of a group give.
struct Group {
  Signature first; ///< rank 0's
  int error;       ///< MPI_SUCCESS: all give the same
};

/// In an intercommunicator, of the other group.
int gather(const void* mine, void* all, std::size_t bytes, MPI_Comm communicator) {
  return PMPI_Allgather(mine, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE, communicator);
}

/// Compares the ranks of a group; `where`, which says what call this is, makes this rank name those that differ.
Group compare(const std::vector<Signature>& all, const std::string* where) {
  Group group{all.front(), MPI_SUCCESS};
  int named = 0;
  for (std::size_t other = 1; other < all.size(); ++other) {
    std::string text;
    const int found = difference(all.front(), all[other], text);
    if (found == MPI_SUCCESS) continue;
    if (group.error == MPI_SUCCESS) group.error = found;
    constexpr int most_named = 8; // more would hide them
    if (where != nullptr && named++ < most_named) log_line(fmt::format("{}: rank {} gives {}", *where, other, text));
  }
  return group;
}

/// The class of the error that both groups of an intercommunicator have, or MPI_SUCCESS. Each rank sees what the other
/// group gives, and hears from there what its own does.
int compare_groups(const std::vector<Signature>& theirs, MPI_Comm communicator, const std::string* where) {
  const Group other = compare(theirs, where);
  std::vector<Group> heard(theirs.size());
  if (const int code = gather(&other, heard.data(), sizeof other, communicator); code != MPI_SUCCESS) return code;
  const Group& own = heard.front();
  std::string text;
  const int between = difference(own.first, other.first, text, Operations::may_differ);
  if (between != MPI_SUCCESS && where != nullptr)
    log_line(fmt::format("{}: its rank 0 gives {} of this group", *where, text));
  // The same on both sides.
  return between != MPI_SUCCESS ? between : std::max(own.error, other.error);
}

} // namespace

int compare_arguments(State& state, CommunicatorRecord& record, const CheckedArguments& mine) {
  static_assert(MPI_SUCCESS == 0 && MPI_ERR_OP > 0 && MPI_ERR_TYPE > 0 && MPI_ERR_COUNT > 0);
  ++record.checked_calls;
  int rank = 0, ranks = 1, others = 0;
  PMPI_Comm_rank(record.communicator, &rank);
  PMPI_Comm_size(record.communicator, &ranks);
  if (record.between_groups) PMPI_Comm_remote_size(record.communicator, &others);
  std::vector<Signature> all(static_cast<std::size_t>(record.between_groups ? others : ranks));
  const Signature own = signature_of(state, mine);
  if (const int code = gather(&own, all.data(), sizeof own, record.communicator); code != MPI_SUCCESS) return code;
  const std::string where =
      record.between_groups
          ? fmt::format("MPI_Allreduce, call {} between groups of {} and {} ranks, the other group",
                        record.checked_calls, ranks, others)
          : fmt::format("MPI_Allreduce, call {} on a communicator of {} ranks", record.checked_calls, ranks);
  const std::string* const named = rank == 0 ? &where : nullptr;
  const int error = record.between_groups ? compare_groups(all, record.communicator, named) : compare(all, named).error;
  if (error == MPI_SUCCESS) return error;
  PMPI_Barrier(record.communicator); // a fatal handler on another rank would end rank 0 before it has said so
  PMPI_Comm_call_errhandler(record.communicator, error);
  return error;
}

} // namespace strata::mpi
