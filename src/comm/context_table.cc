// SPDX-License-Identifier: BSD-3-Clause
// A table of ways (strata-table(5)): rank 0 reads it, all ranks get the same text, and a size class that it covers is
// done as it says (STRATA_TUNE=file), or tries its way first (online).
#include "comm/context.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::comm {

/// Of what all ranks know alike; the MPI library is compared by rank 0 alone.
tune::MachineShape Context::machine_shape() const {
  tune::MachineShape shape;
  shape.nodes = static_cast<std::uint64_t>(situation_.job.nodes);
  shape.ranks_per_node = static_cast<std::uint64_t>(situation_.job.ranks_per_node);
  shape.racks = tune::racks_of(situation_.job.hierarchy);
  shape.cores = *std::max_element(usable_cores_.begin(), usable_cores_.end());
  if (situation_.job.nodes > 1) shape.transport = link_names_.back();
  return shape;
}

std::string Context::machine_text() const {
  tune::MachineShape shape = machine_shape();
  shape.mpi = bootstrap_->native_name();
  return to_text(shape);
}

bool Context::may_use_table() const {
  return (options_.tune == Tune::online || options_.tune == Tune::file) && options_.algorithm.empty() &&
         !options_.reproducible;
}

/// Rank 0's table, for all ranks. It keeps the lines of the file for the log; the others need none.
Status Context::share_table() {
  if (rank_ == 0 && options_.tune == Tune::file && options_.table.empty())
    warnings_.push_back("STRATA_TUNE=file needs STRATA_TABLE=FILE; going on as with STRATA_TUNE=online");
  if (options_.table.empty()) return ok();
  if (!may_use_table()) {
    if (rank_ == 0)
      notes_.push_back(
          fmt::format("STRATA_TABLE={} is not read: with STRATA_TUNE=model or off, STRATA_REPRODUCIBLE=1 or "
                      "STRATA_ALGORITHM it does not count",
                      options_.table));
    return ok();
  }
  std::string text;
  if (rank_ == 0) {
    KnownTable::Found found = process_.known_table().find(options_.table);
    if (!found.complaint.empty()) warnings_.push_back(found.complaint);
    table_ = std::move(found.table);
    keep_fitting_table();
    if (table_) text = to_text(*table_);
  }
  const auto shared = text_of_first(*bootstrap_, text);
  if (!shared) return shared.error();
  if (rank_ != 0 && !shared->empty()) {
    auto table = tune::table_from(*shared, options_.table);
    if (!table) return table.error(); // what to_text() wrote: it cannot be
    table_ = std::move(*table);
  }
  if (follows_table()) probe_.reset();
  return ok();
}

/// On rank 0: drops a table of another machine, unless it is only for other racks, which may yet be found.
void Context::keep_fitting_table() {
  if (!table_) return;
  tune::MachineShape shape = machine_shape();
  shape.mpi = bootstrap_->native_name();
  if (const std::string why = misfit(*table_, shape); !why.empty()) {
    // A part of the ranks is often another shape, and nobody expects a table to be for it.
    const bool has_all_ranks = process_.activity().world_ranks.load() == ranks_;
    (has_all_ranks ? warnings_ : notes_).push_back(fmt::format("STRATA_TABLE={} is not used: {}", options_.table, why));
  }
  shape.racks = table_->machine.racks;
  if (misfit(*table_, shape).empty())
    table_->machine.mpi.clear(); // compared; the other ranks' library need not say the same of itself
  else
    table_.reset();
}

/// Whether the table's ways are taken without a trial.
bool Context::follows_table() const {
  return options_.tune == Tune::file && table_ && misfit(*table_, machine_shape()).empty();
}

/// Puts the table's way, where it has one, in front.
void Context::apply_table(tune::Choice& choice, std::size_t bytes) const {
  if (table_ && misfit(*table_, machine_shape()).empty())
    prefer(choice, *table_, options_.table, situation_, options_, tune::size_class(bytes));
}

std::string Context::way_text(std::size_t bytes) const {
  const Way& way = decisions_[tune::size_class(bytes)].way;
  if (way.path == Path::undecided || way.path == Path::lost) return {};
  tune::Way words = way.in_table;
  const bool has_kinds = situation_.job.nodes == 1 && tune::stores_to_try(situation_, words.kind, bytes).size() > 1;
  if (way.path != Path::native && (has_kinds || way.stores != default_stores(bytes)))
    for (const tune::Around around : tune::every_around)
      if (stores_of(around) == way.stores) words.around = around;
  return to_text(words);
}

Status Context::use_way(std::size_t bytes, const std::string& words) {
  const auto way = tune::way_from(words);
  if (!way) return way.error();
  Decision& decision = decisions_[tune::size_class(bytes)];
  if (decision.way.path == Path::lost) return Error{ErrorKind::peer, watch_.trouble()};
  const auto candidate = tune::candidate_of(*way, situation_, options_, tune::size_class(bytes));
  if (!candidate) return candidate.error();
  auto prepared = prepare_way(*candidate, bytes);
  if (!prepared) return prepared.error();
  retire(decision);
  decision.way = std::move(*prepared);
  decision.way.stores = candidate->around ? stores_of(*candidate->around) : default_stores(bytes);
  return ok();
}

Status Context::set_trial(std::uint64_t percent) {
  if (!set_agreed_option(options_, "TRIAL", std::to_string(percent)))
    return argument_error(fmt::format("trials may not cost {} percent of the time", percent));
  return ok();
}

} // namespace strata::comm
