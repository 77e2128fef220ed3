// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handshake.h"

#include "base/host.h"
#include "base/number_runs.h"

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

/// The highest is what programs take for messages of their own that are to be unlike others. The same in all versions,
/// as the size of a hello.
int unlikely_tag() {
  void* attached = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&attached), &found);
  const int highest = found != 0 ? *static_cast<int*>(attached) : 32767; // what every MPI library has (MPI 4.0, 9.1.2)
  return highest - highest / 7;
}

std::uint32_t machine_number() {
  const std::uint64_t number = socket_space();
  return static_cast<std::uint32_t>(number ^ number >> 32);
}

/// "ranks 4-7,9" or "rank 3".
std::string ranks_text(std::span<const std::int32_t> ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + number_list(ranks);
}

} // namespace

Handshake::Handshake(int rank, int ranks) : rank_(rank), ranks_(ranks), tag_(unlikely_tag()) {}

void Handshake::take_back() {
  for (std::vector<MPI_Request>* kept : {&pending_, &refusals_})
    for (MPI_Request& request : *kept) {
      if (request == MPI_REQUEST_NULL) continue;
      PMPI_Cancel(&request);
      PMPI_Request_free(&request);
    }
}

bool Handshake::complete(Options& options) {
  mine_.options.trace = options.trace.empty() ? 0 : 1;
  if (ranks_ == 1) return true;
  mine_.options.context_calls = options.context_calls;
  mine_.options.reproducible = options.reproducible ? 1 : 0;
  mine_.options.check = options.check ? 1 : 0;
  mine_.options.calls_follow_mode = options.context_calls_follow_mode ? 1 : 0;
  mine_.options.machine = machine_number();
  wants_shared_memory_ = options.transports.find("shm") != std::string::npos;
  std::strncpy(mine_.version, PACKAGE_VERSION, sizeof mine_.version - 1);
  if (rank_ != 0) return ask_rank_0(options);
  const int seconds = static_cast<int>(options.start_seconds);
  hear_all(seconds);
  const bool all_together = judge(seconds);
  mine_.options.machine = wants_shared_memory_ && mine_.options.trace == 0 && is_on_one_machine() ? 1 : 0;
  if (!all_together) swallow_refusals();
  const bool all_here = all_together && confirm();
  tell({mine_.options, all_here ? std::uint64_t{1} : 0});
  return all_here;
}

/// On rank 0: to all that said hello; others wait for no answer.
void Handshake::tell(const Verdict& verdict) {
  for (int rank = 1; rank < ranks_; ++rank)
    if (pending_[static_cast<std::size_t>(rank)] == MPI_REQUEST_NULL &&
        std::find(gone_.begin(), gone_.end(), rank) == gone_.end())
      PMPI_Send(&verdict, sizeof verdict, MPI_BYTE, rank, tag_, MPI_COMM_WORLD);
}

/// On rank 0, when all have said hello: whether none has given up in the meantime. Each has answered or will at once.
bool Handshake::confirm() {
  tell({mine_.options, asked});
  for (int rank = 1; rank < ranks_; ++rank) {
    std::uint64_t waits = 0;
    PMPI_Recv(&waits, sizeof waits, MPI_BYTE, rank, tag_, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (waits == 0) gone_.push_back(rank);
  }
  if (!gone_.empty())
    complaints_.push_back(
        fmt::format("{} of {} gave up before rank 0 was ready (STRATA_START_SECONDS); all calls go to "
                    "the MPI library",
                    ranks_text(gone_), ranks_));
  return gone_.empty();
}

/// On rank 0, which asks nobody: a rank that has given up, or will because its hello came too late, says no all the
/// same, and the program must not see it. Ranks that hear that strata stays away say a word too.
void Handshake::swallow_refusals() {
  waits_.assign(static_cast<std::size_t>(ranks_), 0);
  refusals_.assign(static_cast<std::size_t>(ranks_), MPI_REQUEST_NULL);
  for (int rank = 1; rank < ranks_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    PMPI_Irecv(&waits_[index], sizeof waits_[index], MPI_BYTE, rank, tag_, MPI_COMM_WORLD, &refusals_[index]);
  }
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
  std::vector<std::int32_t> silent, strangers;
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

bool Handshake::is_on_one_machine() const {
  const std::uint32_t here = hellos_.front().options.machine;
  return here != 0 && std::all_of(hellos_.begin(), hellos_.end(),
                                  [here](const Hello& hello) { return hello.options.machine == here; });
}

void Handshake::compare_options() {
  const auto compare = [&](const char* name, const auto& differs) {
    std::vector<std::int32_t> others;
    for (int rank = 1; rank < ranks_; ++rank)
      if (differs(hellos_[static_cast<std::size_t>(rank)].options, mine_.options)) others.push_back(rank);
    if (!others.empty())
      complaints_.push_back(fmt::format("{} {} another STRATA_{} than rank 0; rank 0's is used", ranks_text(others),
                                        others.size() == 1 ? "has" : "have", name));
  };
  // Another STRATA_MODE, about which a context complains, brings another default of CONTEXT_CALLS.
  compare("CONTEXT_CALLS", [](const Early& one, const Early& other) {
    return one.context_calls != other.context_calls && (one.calls_follow_mode == 0 || other.calls_follow_mode == 0);
  });
  compare("REPRODUCIBLE", [](const Early& one, const Early& other) { return one.reproducible != other.reproducible; });
  compare("CHECK", [](const Early& one, const Early& other) { return one.check != other.check; });
  // Its file is rank 0's alone; what counts for the others is whether there is one.
  compare("TRACE", [](const Early& one, const Early& other) { return one.trace != other.trace; });
}

bool Handshake::ask_rank_0(Options& options) {
  const int seconds = static_cast<int>(options.start_seconds) + slack_seconds;
  MPI_Request hello = MPI_REQUEST_NULL;
  pending_.assign(1, MPI_REQUEST_NULL);
  PMPI_Irecv(&verdict_, sizeof verdict_, MPI_BYTE, 0, tag_, MPI_COMM_WORLD, &pending_[0]);
  PMPI_Isend(&mine_, sizeof mine_, MPI_BYTE, 0, tag_, MPI_COMM_WORLD, &hello);
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  int answered = 0;
  for (; answered == 0 && Clock::now() <= end; ::sched_yield())
    PMPI_Test(&pending_[0], &answered, MPI_STATUS_IGNORE);
  PMPI_Request_free(&hello);               // short, so it needs nobody; its buffer lives on
  waits_.assign(1, answered != 0 ? 1 : 0); // lives on: nobody waits until a refusal has gone
  if (answered == 0) {
    // The receive stays open, so that the program never sees an answer that comes after all.
    MPI_Request refusal = MPI_REQUEST_NULL;
    PMPI_Isend(waits_.data(), sizeof waits_[0], MPI_BYTE, 0, tag_, MPI_COMM_WORLD, &refusal);
    PMPI_Request_free(&refusal);
    complaints_.push_back(fmt::format("rank 0 did not answer rank {} of {} within {} s: {}; all calls go to the MPI "
                                      "library",
                                      rank_, ranks_, seconds, likely_reasons));
    return false;
  }
  if (verdict_.all_here == asked) {
    PMPI_Send(waits_.data(), sizeof waits_[0], MPI_BYTE, 0, tag_, MPI_COMM_WORLD);
    PMPI_Recv(&verdict_, sizeof verdict_, MPI_BYTE, 0, tag_, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (verdict_.all_here == 0) {
    // Rank 0 asks nobody and waits for a word of each (swallow_refusals): no receive of its stays open for the
    // program's.
    PMPI_Send(waits_.data(), sizeof waits_[0], MPI_BYTE, 0, tag_, MPI_COMM_WORLD);
  }
  const Verdict& verdict = verdict_;
  options.context_calls = verdict.options.context_calls;
  options.reproducible = verdict.options.reproducible != 0;
  options.check = verdict.options.check != 0;
  mine_.options.trace = verdict.options.trace;
  mine_.options.machine = verdict.options.machine;
  return verdict.all_here != 0;
}

} // namespace strata::mpi
