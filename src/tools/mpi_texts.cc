// SPDX-License-Identifier: BSD-3-Clause
#include "tools/mpi_texts.h"

#include <functional>

namespace strata::tools {
namespace {

using nlohmann::json;

/// Asks for the length, then for the text.
json ask(const std::function<std::size_t(char*, std::size_t)>& describe) {
  std::string text(describe(nullptr, 0), '\0');
  // Between two questions the answer may have grown (counters).
  while (const std::size_t needed = describe(text.data(), text.size())) {
    if (needed <= text.size()) break;
    text.assign(needed, '\0');
  }
  json facts = json::parse(text.c_str(), nullptr, false);
  return facts.is_object() ? facts : json::object();
}

} // namespace

json context_facts(const strata_mpi_introspection& strata, MPI_Comm communicator) {
  return ask([&](char* text, std::size_t room) { return strata.describe_context(&communicator, text, room); });
}

json choice_facts(const strata_mpi_introspection& strata, MPI_Comm communicator, std::uint64_t bytes) {
  return ask([&](char* text, std::size_t room) { return strata.describe_choice(&communicator, bytes, text, room); });
}

json statistics_facts(const strata_mpi_introspection& strata) {
  return ask([&](char* text, std::size_t room) { return strata.describe_statistics(text, room); });
}

std::string links_profile(const strata_mpi_introspection& strata, MPI_Comm communicator) {
  std::string text(strata.describe_links(&communicator, nullptr, 0), '\0');
  strata.describe_links(&communicator, text.data(), text.size());
  text.pop_back(); // the terminator
  return text;
}

json pair_facts(const strata_mpi_introspection& strata, MPI_Comm communicator) {
  return ask([&](char* text, std::size_t room) { return strata.describe_pairs(&communicator, text, room); });
}

std::string mpi_library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole(text);
  return whole.substr(0, whole.find_first_of(",\n"));
}

std::vector<std::string> gather_texts(const std::string& mine, int ranks) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto count = static_cast<std::size_t>(ranks);
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(count), offsets(count);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  int total = 0;
  for (std::size_t r = 0; r < count; ++r) {
    offsets[r] = total;
    total += lengths[r];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  if (rank != 0) return texts;
  for (std::size_t r = 0; r < count; ++r)
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
  return texts;
}

} // namespace strata::tools
