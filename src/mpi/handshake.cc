// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handshake.h"

#include "config.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace strata::mpi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* likely_reasons =
    "probably it was started without the preload (Open MPI hands LD_PRELOAD on to other nodes only with -x LD_PRELOAD; "
    "strata-run sets it everywhere), by a static program, or with STRATA_MODE=off";

/// Rank 0 gives up first, so that its answer still comes in time.
constexpr int slack_seconds = 5;

int highest_tag() {
  void* attached = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&attached), &found);
  return found != 0 ? *static_cast<int*>(attached) : 32767; // what every MPI library has (MPI 4.0, 9.1.2)
}

} // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t first = 0, next = 0; first < ranks.size(); first = next) {
    next = first + 1;
    while (next < ranks.size() && ranks[next] == ranks[next - 1] + 1)
      ++next;
    text += first == 0 ? "" : ", ";
    text += next - first == 1 ? fmt::format("{}", ranks[first]) : fmt::format("{}-{}", ranks[first], ranks[next - 1]);
  }
  return text;
}

Handshake::Handshake(int rank, int ranks) : rank_(rank), ranks_(ranks), tag_(highest_tag()) {}

Handshake::~Handshake() {
  for (MPI_Request& request : pending_) {
    if (request == MPI_REQUEST_NULL) continue;
    PMPI_Cancel(&request);
    PMPI_Request_free(&request);
  }
}

bool Handshake::complete(Options& options) {
  if (ranks_ == 1) return true;
  mine_.options.context_calls = options.context_calls;
  mine_.options.reproducible = options.reproducible ? 1 : 0;
  mine_.options.check = options.check ? 1 : 0;
  std::strncpy(mine_.version, PACKAGE_VERSION, sizeof mine_.version - 1);
  if (rank_ != 0) return ask_rank_0(options);
  const int seconds = static_cast<int>(options.start_seconds);
  hear_all(seconds);
  const Verdict verdict{mine_.options, judge(seconds) ? std::uint64_t{1} : 0};
  for (int rank = 1; rank < ranks_; ++rank)
    if (pending_[static_cast<std::size_t>(rank)] == MPI_REQUEST_NULL) // others wait for no answer
      PMPI_Send(&verdict, sizeof verdict, MPI_BYTE, rank, tag_, MPI_COMM_WORLD);
  return verdict.all_here != 0;
}

/// On rank 0. Receives that stay open swallow a hello that comes too late, so that the program never sees it.
void Handshake::hear_all(int seconds) {
  hellos_.assign(static_cast<std::size_t>(ranks_), mine_);
  pending_.assign(static_cast<std::size_t>(ranks_), MPI_REQUEST_NULL);
  for (int rank = 1; rank < ranks_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    PMPI_Irecv(&hellos_[index], sizeof(Hello), MPI_BYTE, rank, tag_, MPI_COMM_WORLD, &pending_[index]);
  }
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  for (int all = 0; all == 0 && Clock::now() <= end; ::sched_yield())
    PMPI_Testall(ranks_, pending_.data(), &all, MPI_STATUSES_IGNORE);
  for (MPI_Request& request : pending_) { // Testall frees none unless all are complete
    int complete = 0;
    if (request != MPI_REQUEST_NULL) PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  }
}

/// Whether all ranks can work together; if not, or if they differ, complaints_ say so.
bool Handshake::judge(int seconds) {
  std::vector<int> silent, strangers;
  for (int rank = 1; rank < ranks_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (pending_[index] != MPI_REQUEST_NULL)
      silent.push_back(rank);
    else if (std::memcmp(hellos_[index].version, mine_.version, sizeof mine_.version) != 0)
      strangers.push_back(rank);
  }
  if (!silent.empty())
    complaints_.push_back(fmt::format("{} of {} did not report within {} s: {}; all calls go to the MPI library",
                                      ranks_text(silent), ranks_, seconds, likely_reasons));
  else if (!strangers.empty())
    complaints_.push_back(fmt::format("{} of {}: another version of strata than rank 0's {}; all calls go to the MPI "
                                      "library",
                                      ranks_text(strangers), ranks_, mine_.version));
  else
    compare_options();
  return silent.empty() && strangers.empty();
}

void Handshake::compare_options() {
  const auto compare = [&](const char* name, auto member) {
    for (int rank = 1; rank < ranks_; ++rank) {
      if (hellos_[static_cast<std::size_t>(rank)].options.*member == mine_.options.*member) continue;
      complaints_.push_back(fmt::format("rank {} has another STRATA_{} than rank 0; rank 0's is used", rank, name));
      return;
    }
  };
  compare("CONTEXT_CALLS", &Early::context_calls);
  compare("REPRODUCIBLE", &Early::reproducible);
  compare("CHECK", &Early::check);
}

bool Handshake::ask_rank_0(Options& options) {
  const int seconds = static_cast<int>(options.start_seconds) + slack_seconds;
  Verdict verdict{};
  MPI_Request requests[2];
  PMPI_Irecv(&verdict, sizeof verdict, MPI_BYTE, 0, tag_, MPI_COMM_WORLD, &requests[0]);
  PMPI_Isend(&mine_, sizeof mine_, MPI_BYTE, 0, tag_, MPI_COMM_WORLD, &requests[1]);
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  int both = 0;
  for (; both == 0 && Clock::now() <= end; ::sched_yield())
    PMPI_Testall(2, requests, &both, MPI_STATUSES_IGNORE);
  if (both == 0) {
    PMPI_Cancel(&requests[0]);
    PMPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    PMPI_Request_free(&requests[1]);
    complaints_.push_back(fmt::format("rank 0 did not answer rank {} of {} within {} s: {}; all calls go to the MPI "
                                      "library",
                                      rank_, ranks_, seconds, likely_reasons));
    return false;
  }
  options.context_calls = verdict.options.context_calls;
  options.reproducible = verdict.options.reproducible != 0;
  options.check = verdict.options.check != 0;
  return verdict.all_here != 0;
}

} // namespace strata::mpi
