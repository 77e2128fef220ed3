// SPDX-License-Identifier: BSD-3-Clause
#include "tools/mpi_trials.h"

#include "tools/mpi_texts.h"
#include "tools/mpi_timing.h"
#include "tools/run_environment.h"

#include <charconv>

namespace strata::tools {
namespace {

constexpr unsigned hasty_percent = 50;

/// As the ranks agreed on it; 0 when strata does not serve the communicator.
unsigned trial_percent(const strata_mpi_introspection& strata, MPI_Comm communicator) {
  const nlohmann::json facts = context_facts(strata, communicator);
  if (!facts.contains("options")) return 0;
  const std::string text = facts["options"].value("TRIAL", "");
  unsigned percent = 0;
  std::from_chars(text.data(), text.data() + text.size(), percent);
  return percent;
}

} // namespace

HastyTrials::HastyTrials(const strata_mpi_introspection& strata, MPI_Comm communicator)
    : strata_(strata), communicator_(communicator) {
  int is_left = strata.version < 6 || option_is_set("TRIAL");
  MPI_Bcast(&is_left, 1, MPI_INT, 0, MPI_COMM_WORLD); // the environment of rank 0 decides, as for any agreed option
  if (is_left != 0) return;
  percent_before_ = trial_percent(strata, communicator);
  if (percent_before_ != 0) strata.set_trial(&communicator_, hasty_percent);
}

HastyTrials::~HastyTrials() {
  if (percent_before_ != 0) strata_.set_trial(&communicator_, percent_before_);
}

/// Rank 0's clock ends it for all: a library whose ranks wait for each other's core needs a slice of the scheduler per
/// call.
void finish_trials(const strata_mpi_introspection& strata, MPI_Comm communicator, std::uint64_t bytes, double least,
                   double patience, const CallsOfOneSize& run) {
  // Many calls at a stretch: the question between them leaves caches, and with more ranks than cores the scheduler, as
  // no program does that the trial is to be for.
  constexpr double stretch_seconds = 50e-3;
  const double begin = clock_seconds();
  std::uint64_t stretch = 3; // trials begin with the first calls
  double seconds = run(stretch) * static_cast<double>(stretch);
  for (;;) {
    const bool on_trial = choice_facts(strata, communicator, bytes).value("on_trial", false);
    stretch = calls_for(stretch_seconds, seconds / static_cast<double>(stretch), 1, 2 * stretch);
    if (clock_seconds() - begin >= (on_trial ? patience : least)) stretch = 0;
    MPI_Bcast(&stretch, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (stretch == 0) return;
    seconds = run(stretch) * static_cast<double>(stretch);
  }
}

} // namespace strata::tools
