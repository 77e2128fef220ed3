// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/timeline.h"

#include "mpi/state.h"

#include "base/log.h"
#include "base/written_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace strata::mpi {
namespace {

constexpr int tag = 0; // on a communicator where nothing else is left to be sent
constexpr int looks = 16;
constexpr std::size_t piece_bytes = std::size_t{128} << 10;

/// What a rank tells of itself.
struct Card {
  char host[MPI_MAX_PROCESSOR_NAME];
  std::uint64_t recorded;
  std::uint64_t dropped;
};

/// What rank 0 found out about a rank.
struct Place {
  std::int32_t node;
  std::int64_t ahead; ///< nanoseconds that its clock is ahead of rank 0's
  std::int64_t error; ///< nanoseconds at most that `ahead` may be wrong
};

/// The parts of other ranks, and rank 0's own, as they become the file.
class Timeline {
public:
  explicit Timeline(State& state) : state_(state), recorder_(*state.process->recorder()) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  void collect();
  void contribute();
  int rank() const { return rank_; }

private:
  Card card() const;
  void compare_clocks(int rank, Place& place) const;
  void answer_clocks() const;
  void write_rank(int rank, const Place& place);
  void add_to_tail(int rank, const Card& card, const Place& place);

  State& state_;
  const trace::Recorder& recorder_;
  int rank_ = 0, ranks_ = 1;
  std::optional<WrittenFile> file_; ///< rank 0: none if it cannot be written
  std::string tail_;
};

Card Timeline::card() const {
  Card mine{};
  int length = 0;
  PMPI_Get_processor_name(mine.host, &length);
  mine.recorded = recorder_.recorded();
  mine.dropped = recorder_.dropped();
  return mine;
}

// Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989: an answer's clock was read between
// question and answer; of several answers the fastest tells most, and half its time is the most that it can be wrong.
void Timeline::compare_clocks(int rank, Place& place) const {
  for (int look = 0; look < looks; ++look) {
    std::int64_t theirs = 0;
    const std::int64_t asked = trace::now();
    PMPI_Send(&asked, 1, MPI_INT64_T, rank, tag, state_.world);
    PMPI_Recv(&theirs, 1, MPI_INT64_T, rank, tag, state_.world, MPI_STATUS_IGNORE);
    const std::int64_t answered = trace::now();
    const std::int64_t error = (answered - asked + 1) / 2;
    if (look == 0 || error < place.error) place = {place.node, theirs - (asked + error), error};
  }
}

void Timeline::answer_clocks() const {
  for (int look = 0; look < looks; ++look) {
    std::int64_t asked = 0;
    PMPI_Recv(&asked, 1, MPI_INT64_T, 0, tag, state_.world, MPI_STATUS_IGNORE);
    const std::int64_t mine = trace::now();
    PMPI_Send(&mine, 1, MPI_INT64_T, 0, tag, state_.world);
  }
}

void Timeline::add_to_tail(int rank, const Card& card, const Place& place) {
  tail_ += fmt::format(R"({}{{"rank":{},"recorded":{},"dropped":{},"clock_ahead_us":{},"clock_error_us":{}}})",
                       rank == 0 ? "" : ",\n", rank, card.recorded, card.dropped,
                       static_cast<double>(place.ahead) / 1e3, static_cast<double>(place.error) / 1e3);
}

/// On rank 0: another rank's part, as it comes.
void Timeline::write_rank(int rank, const Place& place) {
  const std::int64_t words[] = {place.node, place.ahead + recorder_.start()};
  PMPI_Send(words, 2, MPI_INT64_T, rank, tag, state_.world);
  std::string piece(piece_bytes, '\0');
  for (int bytes = 1; bytes > 0;) {
    MPI_Status status;
    if (PMPI_Recv(piece.data(), static_cast<int>(piece.size()), MPI_CHAR, rank, tag, state_.world, &status) !=
        MPI_SUCCESS)
      return; // it is gone
    PMPI_Get_count(&status, MPI_CHAR, &bytes);
    if (file_) file_->append(std::string_view(piece).substr(0, static_cast<std::size_t>(std::max(bytes, 0))));
  }
}

void Timeline::collect() {
  std::vector<Card> cards(static_cast<std::size_t>(ranks_), card());
  std::vector<Place> places(cards.size(), Place{});
  for (int rank = 1; rank < ranks_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    PMPI_Recv(&cards[index], sizeof(Card), MPI_BYTE, rank, tag, state_.world, MPI_STATUS_IGNORE);
    compare_clocks(rank, places[index]);
  }
  auto file = WrittenFile::begin(state_.process->options().trace);
  std::string trouble = file ? "" : file.error().message;
  if (file) file_.emplace(std::move(*file));
  const auto append = [&](std::string_view text) {
    if (file_) file_->append(text);
  };
  append(trace::timeline_head());
  std::map<std::string, std::int32_t> nodes;
  std::uint64_t dropped = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const auto [node, is_new] = nodes.try_emplace(cards[index].host, static_cast<std::int32_t>(nodes.size()));
    places[index].node = node->second;
    std::string names;
    if (is_new) trace::name_node(names, node->second, node->first);
    trace::name_rank(names, {node->second, rank});
    append(names);
    if (rank == 0)
      recorder_.write({node->second, 0}, {recorder_.start()}, append);
    else
      write_rank(rank, places[index]);
    add_to_tail(rank, cards[index], places[index]);
    dropped += cards[index].dropped;
  }
  append(trace::timeline_tail("\"ranks\":[" + tail_ + "]"));
  if (file_)
    if (const Status written = file_->finish(); !written) trouble = written.error().message;
  if (!trouble.empty())
    log_line("STRATA_TRACE: " + trouble);
  else if (dropped > 0)
    log_line(fmt::format("STRATA_TRACE: of each rank the last {} events are in the file; {} earlier ones are not",
                         trace::Recorder::usual_capacity, dropped));
}

void Timeline::contribute() {
  const Card mine = card();
  PMPI_Send(&mine, sizeof mine, MPI_BYTE, 0, tag, state_.world);
  answer_clocks();
  std::int64_t words[2] = {0, 0};
  PMPI_Recv(words, 2, MPI_INT64_T, 0, tag, state_.world, MPI_STATUS_IGNORE);
  const auto send = [&](std::string_view text) {
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), piece_bytes)))
      PMPI_Send(text.data(), static_cast<int>(std::min(text.size(), piece_bytes)), MPI_CHAR, 0, tag, state_.world);
  };
  recorder_.write({static_cast<std::int32_t>(words[0]), rank_}, {words[1]}, send);
  PMPI_Send(nullptr, 0, MPI_CHAR, 0, tag, state_.world);
}

} // namespace

void write_timeline(State& now) {
  if (now.process->recorder() == nullptr) return;
  Timeline timeline(now);
  if (timeline.rank() == 0)
    timeline.collect();
  else
    timeline.contribute();
}

} // namespace strata::mpi
