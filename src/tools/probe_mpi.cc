// SPDX-License-Identifier: BSD-3-Clause
// strata-probe under a launcher: every rank takes part in the measurement, rank 0 writes the profile.
#include "base/written_file.h"
#include "tools/complaint.h"
#include "tools/matrix.h"
#include "tools/mpi_texts.h"
#include "tools/probe.h"
#include "tune/probed_links.h"

namespace strata::tools {
namespace {

constexpr const char* tool = "strata-probe";

/// The pairs of nodes as heat maps.
Status draw_pairs(const std::string& file, const strata_mpi_introspection& strata) {
  const nlohmann::json pairs = pair_facts(strata, MPI_COMM_WORLD);
  if (!pairs.contains("hosts")) return Error{ErrorKind::unsupported, "nothing is known of pairs of nodes"};
  const auto hosts = pairs["hosts"].get<std::vector<std::string>>();
  if (hosts.size() < 2) return Error{ErrorKind::unsupported, "one node has no pairs to draw"};
  topo::LinkMatrix matrix;
  matrix.nodes = static_cast<std::int32_t>(hosts.size());
  for (const auto& [key, cells] : {std::pair{"latency", &matrix.latency}, std::pair{"bandwidth", &matrix.bandwidth}})
    for (const nlohmann::json& row : pairs[key])
      for (const nlohmann::json& value : row)
        cells->push_back(value.is_number() ? value.get<double>() : 0);
  const auto picture = matrix_svg(hosts, matrix);
  return picture ? write_whole(file, *picture) : Status(picture.error());
}

/// What is slower than the rest, for the person who waits: on standard error, because the profile may go to the other.
void tell_findings(const std::string& text) {
  const auto profile = tune::profile_from(text, "links");
  if (!profile) return;
  for (const std::string& finding : tune::findings(*profile))
    std::fprintf(stderr, "%s: %s\n", tool, finding.c_str());
}

/// Collective; the exit status.
int probe(const ProbeFlags& flags, int rank) {
  const strata_mpi_introspection* const strata = strata_mpi_introspect();
  if (strata == nullptr)
    return complain(tool, "strata does nothing in this process (STRATA_MODE=off, or no module for this MPI library)",
                    1);
  const MPI_Comm world = MPI_COMM_WORLD;
  const int measured = strata->measure_links(&world);
  if (measured < 0) return complain(tool, "the links could not be measured (STRATA_LOG=choice says why)", 1);
  if (rank != 0) return 0;
  const std::string profile = links_profile(*strata, world);
  if (profile.empty()) return complain(tool, "several nodes have the same host name, so a profile cannot name them", 1);
  tell_findings(profile);
  const int status = write_out(tool, flags.output, profile); // before a picture that cannot be drawn
  if (!flags.svg.empty())
    if (const Status drawn = draw_pairs(flags.svg, *strata); !drawn) return complain(tool, drawn.error().message, 1);
  return status;
}

} // namespace
} // namespace strata::tools

int main(int count, char** arguments) {
  using namespace strata::tools;
  ProbeFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  MPI_Init(&count, &arguments);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int status = probe(flags, rank);
  MPI_Finalize();
  return status;
}
