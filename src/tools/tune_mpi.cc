// SPDX-License-Identifier: BSD-3-Clause
// strata-tune in the job: measures size after size, and rank 0 writes the table.
#include "base/written_file.h"
#include "tools/complaint.h"
#include "tools/progress_line.h"
#include "tools/run_environment.h"
#include "tools/tune_measure.h"

#include "config.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::tools {
namespace {

constexpr const char* tool = "strata-tune";

/// Options that would have the table be of something else than this machine. The words are their values by default.
constexpr std::pair<const char*, const char*> fixing_options[] = {
    {"MODE", "auto"}, {"ALGORITHM", ""}, {"SLICE", "0"}, {"WINDOW", "0"}, {"REPRODUCIBLE", "0"}};

/// The context's facts; an error in one line, the same on all ranks, when there is nothing to tune.
Result<nlohmann::json> facts_of(const strata_mpi_introspection* strata) {
  if (strata == nullptr || strata->version < 6)
    return Error{ErrorKind::unsupported,
                 "strata does nothing here: STRATA_MODE=off, or no module for this MPI library"};
  nlohmann::json facts = context_facts(*strata, MPI_COMM_WORLD);
  if (!facts.contains("ranks"))
    return Error{ErrorKind::unsupported, "strata does not serve these ranks; STRATA_LOG=choice says why"};
  for (const auto& [name, usual] : fixing_options)
    if (const auto value = facts["options"].value(name, std::string(usual)); value != usual)
      return argument_error(fmt::format("STRATA_{}={} settles what is to be found out; run without it", name, value));
  return facts;
}

Existing existing(const TuneFlags& flags) { return flags.force ? Existing::replaced : Existing::kept; }

std::uint64_t wrong_elements_in(const std::vector<MeasuredSize>& sizes) {
  std::uint64_t wrong = 0;
  for (const MeasuredSize& size : sizes)
    wrong += size.own ? size.own->wrong + size.own->native_wrong : 0;
  return wrong;
}

/// Before anything is measured: whether rank 0 may write its files. Same answer on all ranks.
bool may_write(const TuneFlags& flags) {
  int fine = 1;
  for (const std::string& file : {flags.output, flags.json}) {
    if (rank_in_world() != 0 || file.empty()) continue;
    if (const Status writable = check_writable(file, existing(flags)); !writable)
      fine = complain(tool, writable.error().message, 0);
  }
  MPI_Bcast(&fine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return fine == 1;
}

/// Size after size, until rank 0 says that the time is over.
std::vector<MeasuredSize> measure_all(const TuneFlags& flags, Sweep& sweep) {
  const bool first = rank_in_world() == 0;
  ProgressLine progress(first);
  std::vector<MeasuredSize> sizes;
  const double begin = clock_seconds();
  for (const std::uint64_t bytes : flags.sizes) {
    int goes_on = sizes.empty() || clock_seconds() - begin < flags.total_seconds;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (goes_on == 0) break;
    progress.show(fmt::format("{} bytes: {} of {} sizes", bytes, sizes.size() + 1, flags.sizes.size()));
    sizes.push_back(sweep.measure(bytes));
  }
  progress.clear();
  if (sizes.size() < flags.sizes.size())
    complain(
        tool,
        fmt::format("the time is over after {} of {} sizes; the table is for these", sizes.size(), flags.sizes.size()),
        0);
  return sizes;
}

/// The table, and the document in any case; the exit status.
int write_files(const TuneFlags& flags, const nlohmann::json& facts, const tune::Table& table,
                const std::vector<MeasuredSize>& sizes) {
  const int status = write_out(tool, flags.output, to_text(table), existing(flags));
  if (flags.json.empty()) return status;
  const nlohmann::json job = {{"tool", tool},
                              {"version", PACKAGE_VERSION},
                              {"collective", "allreduce"},
                              {"ranks", ranks_in_world()},
                              {"nodes", facts["nodes"]},
                              {"links", facts["links"]},
                              {"machine", facts["machine"]},
                              {"library", mpi_library_version()},
                              {"options", facts["options"]}};
  const std::string text = document_of(job, sizes).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  return std::max(status, write_out(tool, flags.json, text + "\n", existing(flags)));
}

/// Collective; the exit status.
int tune_machine(const TuneFlags& flags) {
  if (ranks_in_world() < 2)
    return complain(tool, "one rank has nobody to reduce with: run under mpirun with two ranks or more", bad_usage);
  if (!may_write(flags)) return bad_usage;
  const strata_mpi_introspection* const strata = strata_mpi_introspect();
  const auto facts = facts_of(strata);
  if (!facts) return complain(tool, facts.error().message, facts.error().kind == ErrorKind::argument ? bad_usage : 1);
  const auto machine = tune::machine_from(facts->value("machine", std::string()));
  if (!machine) return complain(tool, machine.error().message, 1);
  if ((*facts)["nodes"].get<int>() > 1 && links_profile(*strata, MPI_COMM_WORLD).empty())
    complain(tool,
             "the links between the nodes are not known, and the table is for jobs that do not know them either; "
             "strata-probe measures them",
             0);
  Sweep sweep(flags, *strata);
  if (!sweep.take_memory()) end_job(tool, "no memory for the largest size");
  const std::vector<MeasuredSize> sizes = measure_all(flags, sweep);
  const auto unserved =
      std::count_if(sizes.begin(), sizes.end(), [](const MeasuredSize& size) { return size.ways.empty(); });
  if (unserved > 0)
    complain(tool,
             fmt::format("strata did not serve a duplicate of all ranks for {} of {} sizes", unserved, sizes.size()),
             0);
  if (static_cast<std::size_t>(unserved) == sizes.size()) return 1;
  if (rank_in_world() != 0) return 0;
  const Remarks remarks = flags.all || !flags.ways.empty() ? Remarks::all : Remarks::fastest;
  const int status = write_files(flags, *facts, table_of(*machine, sizes, remarks), sizes);
  const std::uint64_t wrong = wrong_elements_in(sizes);
  return wrong == 0 ? status : complain(tool, fmt::format("{} elements were wrong", wrong), 1);
}

} // namespace
} // namespace strata::tools

int main(int count, char** arguments) {
  using namespace strata::tools;
  TuneFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  // What is measured is to depend neither on an older table nor on what is measured meanwhile.
  for (const auto& [name, value] : {std::pair{"TUNE", "online"}, {"TABLE", ""}, {"PROBE", "0"}})
    set_option(name, value);
  MPI_Init(&count, &arguments);
  const int status = tune_machine(flags);
  MPI_Finalize();
  return status;
}
