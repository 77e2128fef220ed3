// SPDX-License-Identifier: BSD-3-Clause
// strata-info under a launcher: asks strata in this job, and shows rank 0's view with what all ranks say of their
// links.
#include "tools/info.h"
#include "tools/mpi_texts.h"

#include <ctime>

namespace strata::tools {
namespace {

using nlohmann::json;

/// Row r: by which transport rank r reaches each rank. On rank 0.
json transports_by_pair(const json& mine, int ranks) {
  std::string names;
  if (mine.contains("transports"))
    for (const json& name : mine["transports"])
      names += name.get<std::string>() + ",";
  json rows = json::array();
  for (const std::string& line : gather_texts(names, ranks)) {
    json row = json::array();
    for (std::size_t begin = 0, end = 0; (end = line.find(',', begin)) != std::string::npos; begin = end + 1)
      row.push_back(line.substr(begin, end - begin));
    rows.push_back(row);
  }
  return rows;
}

/// Adds to a job what is known of its links. On rank 0.
void add_links(json& job, const strata_mpi_introspection& strata) {
  const std::string text = links_profile(strata, MPI_COMM_WORLD);
  if (text.empty() || !job.contains("levels")) return;
  if (const auto profile = tune::profile_from(text, "links"))
    job["links"] = links_facts(*profile, job, std::time(nullptr));
}

/// Collective; complete on rank 0.
json job_facts(const InfoFlags& flags, int ranks) {
  const strata_mpi_introspection* const strata = strata_mpi_introspect();
  const MPI_Comm world = MPI_COMM_WORLD;
  const int measured = strata != nullptr && flags.measure ? strata->measure_links(&world) : 0;
  json job = strata != nullptr ? context_facts(*strata, MPI_COMM_WORLD) : json::object();
  if (strata != nullptr) add_links(job, *strata);
  if (measured != 0 && job.contains("notes"))
    job["notes"].push_back("the links could not be measured (STRATA_LOG=choice says why)");
  job["transports_by_pair"] = transports_by_pair(job, ranks);
  job["size"] = ranks;
  job["library"] = mpi_library_version();
  if (strata == nullptr)
    job["why_not"] = "it does nothing in this process (STRATA_MODE=off, or no module for this MPI library)";
  else if (ranks == 1)
    job["why_not"] = "one rank has nobody to reduce with";
  else if (!job.contains("ranks"))
    job["why_not"] = "no context could be made (STRATA_LOG=choice says why)";
  return job;
}

} // namespace
} // namespace strata::tools

int main(int count, char** arguments) {
  using namespace strata::tools;
  InfoFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  MPI_Init(&count, &arguments);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const json job = job_facts(flags, ranks);
  int status = 0;
  if (rank == 0) {
    json document = installation_facts();
    document["job"] = job;
    status = show(flags, document);
  }
  MPI_Finalize();
  return status;
}
