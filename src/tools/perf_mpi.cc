// SPDX-License-Identifier: BSD-3-Clause
// strata-perf in the job: measures size after size, and rank 0 writes what was found.
#include "base/written_file.h"
#include "tools/complaint.h"
#include "tools/perf_measure.h"
#include "tools/progress_line.h"
#include "tools/run_environment.h"

#include "config.h"

#include <fmt/format.h>

#include <cstdio>

namespace strata::tools {
namespace {

constexpr const char* tool = "strata-perf";

/// Before anything is measured: whether rank 0 can write its files. Same answer on all ranks.
bool files_are_writable(const PerfFlags& flags) {
  int fine = 1;
  if (rank_in_world() == 0)
    for (const std::string& file : {flags.json_file, flags.svg_file}) {
      if (file.empty()) continue;
      if (const Status writable = check_writable(file, Existing::replaced); !writable)
        fine = complain(tool, writable.error().message, 0);
    }
  MPI_Bcast(&fine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return fine == 1;
}

/// Fills in who takes part. False, on all ranks alike, when strata does not serve them.
bool describe(PerfRun& run, const strata_mpi_introspection& strata) {
  const nlohmann::json context = context_facts(strata, MPI_COMM_WORLD);
  run.ranks = ranks_in_world();
  run.library = mpi_library_version();
  if (!context.contains("ranks")) return false;
  run.nodes = context["nodes"].get<int>();
  run.hosts = context["hosts"].get<std::vector<std::string>>();
  run.options = context["options"];
  return true;
}

Status write_files(const PerfFlags& flags, const PerfRun& run) {
  if (!flags.json_file.empty()) {
    const std::string text = document_of(flags, run).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    if (const Status written = write_whole(flags.json_file, text + "\n"); !written) return written;
  }
  if (flags.svg_file.empty()) return ok();
  const auto drawing = plot(flags, run);
  return drawing ? write_whole(flags.svg_file, *drawing) : Status(drawing.error());
}

int rank_in_node() {
  MPI_Comm node = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

/// Null, on all ranks alike, where one of them has no such memory; the first of those has said so.
std::unique_ptr<PerfMemory> open_memory(const PerfFlags& flags) {
  auto opened = PerfMemory::open(flags.memory, rank_in_node());
  const int mine = opened ? ranks_in_world() : rank_in_world();
  int first = mine;
  MPI_Reduce(&mine, &first, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (first == ranks_in_world()) return std::make_unique<PerfMemory>(std::move(*opened));
  // Not by complain(), which is for what all ranks have in common, and leaves it to rank 0.
  if (first == rank_in_world())
    std::fprintf(stderr, "%s: --memory: rank %d has none of that kind: %s\n", tool, first,
                 opened.error().message.c_str());
  return nullptr;
}

int measure(const PerfFlags& flags, const strata_mpi_introspection& strata, PerfRun& run) {
  const bool first = rank_in_world() == 0;
  const auto memory = open_memory(flags);
  if (!memory) return 1;
  Bench bench(flags, strata, *memory);
  if (const Status taken = bench.take_memory(); !taken)
    end_job(tool, "no memory for the largest size: " + taken.error().message);
  run.memory = memory->name();
  run.native_staged = bench.stages_native();
  if (!bench.take_communicator()) return complain(tool, "strata cannot be made reproducible here", 1);
  if (flags.floor) run.flag_seconds = bench.take_pair();
  if (first) std::fputs(heading(flags, run).c_str(), stdout);
  ProgressLine progress(first);
  std::int64_t errors = 0;
  for (std::size_t i = 0; i < flags.sizes.size(); ++i) {
    progress.show(fmt::format("{} bytes: {} of {} sizes", flags.sizes[i], i + 1, flags.sizes.size()));
    run.rows.push_back(bench.measure(flags.sizes[i]));
    errors += run.rows.back().errors + run.rows.back().native_errors;
    if (!first) continue;
    progress.clear();
    std::fputs(line_of(flags, run.rows.back()).c_str(), stdout);
    std::fflush(stdout);
  }
  if (!first) return 0;
  const Status written = write_files(flags, run);
  if (errors > 0) return complain(tool, fmt::format("{} elements were wrong", errors), 1);
  return written ? 0 : complain(tool, written.error().message, 1);
}

int run_in_job(const PerfFlags& flags) {
  if (ranks_in_world() < 2)
    return complain(tool, "one rank has nobody to reduce with: run under mpirun with two ranks or more", bad_usage);
  if (!files_are_writable(flags)) return bad_usage;
  const strata_mpi_introspection* const strata = strata_mpi_introspect();
  PerfRun run;
  if (strata == nullptr)
    return complain(tool, "strata does nothing here: STRATA_MODE=off, or no module for this MPI library", 1);
  if (!describe(run, *strata))
    return complain(tool, "strata does not serve these ranks; STRATA_LOG=choice says why", 1);
  return measure(flags, *strata, run);
}

} // namespace
} // namespace strata::tools

int main(int count, char** arguments) {
  using namespace strata::tools;
  PerfFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  if (!flags.mode.empty()) set_option("MODE", flags.mode);
  MPI_Init(&count, &arguments);
  const int status = run_in_job(flags);
  MPI_Finalize();
  return status;
}
