// SPDX-License-Identifier: BSD-3-Clause
// Finding the fastest of a few ways to do the calls of a size class, native among them, by using each in turn for real
// calls (as STAR-MPI does among the algorithms of a collective: Faraj, Yuan and Lowenthal, ICS 2006).
//
// In each round every way that is left serves a run of consecutive calls; the first of a run are not counted, because
// they find the caches as the way before left them. Runs of short calls become longer after the first round, most where
// there is much noise. A way's time in a round is the mean of the others: not the median, because with more ranks than
// cores a few calls of a run take all of its time. Over the rounds a way counts by their median, of an even number the
// slower one of the two: the best round would be a prize for ways whose times vary, the mean would be that of what else
// the machine did. After each round the ranks exchange these times, and each way counts by its smallest time over the
// ranks: the rank that came last waited least, so that a program whose ranks arrive unevenly does not hide what the way
// itself costs. That after the rounds, because within one of them some rank always began late and ended early.
//
// A rank that leaves early costs nobody less, when the program makes it wait for the others after the call. So where
// calls are long, their times are to be taken when all have left (is_long()); a short call costs less than that
// question.
//
// Long calls vary little, and many of them take a program's time: how many turns there are follows the time of a call,
// where that is longer than is usual for its bytes.
//
// Programs that make few calls are to gain, too. So the first round is a glance of a few calls, and from then on turns
// of ways that are not the fastest are paid for: between two rounds, calls rest with the way that is ahead, until what
// the turns have cost beyond it, and those of the coming round will, is a small share of the time of all calls. Ways
// that are close cost next to nothing and are told apart soon; one that is far behind, and was not dropped yet, waits.
// What a way costs is told by its best round, because a glance that was disturbed is not to keep it waiting for long.
//
// Ways whose best round is far behind are dropped. What a way finds (queues, windows, caches) others may have left
// longer ago than a run, and who has the core may stay so for longer: so over a network those that are close after the
// last round have a final of some rounds more, in longer runs, and only that counts between them. So have short calls
// of ranks that share the cores of one node, unless the decision is wanted as soon as possible, without rests: their
// runs do not last for a slice of the scheduler's. Calls of 1 KiB and more of ranks with a core each have a short one
// then, of ways up to twice as long as the best: a run of 50 us finds the caches as another way left them, and half of
// each run of the final is not counted. (Between two cores of a Zen 4, 128 KiB: the latency path's ring took 9.5 to
// 14.5 us in runs of 50 us, 8.3 in a row; a tree 12.8 to 15, and 15.3. Of a Zen 3, 4 KiB: the ring 1.4 to 1.6, and 0.7;
// a direct exchange in other memory 1.1 to 1.3, and 1.1.) In a final a way counts by the mean of the faster half of its
// rounds, of an even number one more, because the median takes one round at its word. (9 to 16 ranks on two cores,
// rounds of 50 ms that vary by 10 to 20%: resampled from eight finals of 9 or 41 rounds, where ways were 0 to 20%
// apart, a way more than 5% behind won by the median of three rounds in 0 to 34% of cases, in five of the eight in 10%
// or more; by the mean of the faster four of seven in 0 to 13%, in seven of them in less than 4%.) That, too, is a
// prize for ways whose times vary, but a smaller one than the best round would be. Ways that are behind in each of
// three rounds of the final are dropped there; long calls, whose times vary little, have no more than these. After the
// final, or once those that are left take the same time, all but one are dropped. Every rank computes the same from the
// same numbers.
//
// A network that was idle lets a burst pass at once (a shaper's bucket, the queues of switches and cards), and not what
// comes after it. So a run may take less time than the same calls do in a row, and which ways profit depends on how
// much they send. Before a trial over a network is over, the way that would win has a row of calls, half a second of
// them, and counts by the later half, if that took longer. A way that took less in its runs than that, one that was
// dropped included, has a row in its turn; so the way that wins takes no longer in a row than any other took at all. A
// row may be disturbed: one that decides against a way that is close is repeated, once. Each part of a row is settled,
// so that one of a way that has become very slow is left soon. Without rests there are no rows, and calls that are so
// long that a row has less than sixteen of them need none: they use up in one or two calls what a network lets pass at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::tune {

/// Seconds of a call beside which an exchange of a number by all ranks counts little.
inline constexpr double long_call_seconds = 2e-3;

/// How much the times of calls vary by themselves.
enum class Noise : std::uint8_t {
  little,       ///< every rank has a core of its own, and the others are beside it
  shared_cores, ///< who has the core decides
  network       ///< lies between, with queues and windows that what ran before has filled
};

/// Of times in ascending order, the faster half, of an even number one more.
double mean_of_faster(std::span<const double> ascending);

class Trial {
public:
  /// Of at least one way, for calls of about `bytes`: the longer a call, the fewer are tried; the more noise, the more.
  /// `share`, above 0: of the time of all calls after the first round, what turns of slower ways may cost; 1: no rests.
  Trial(std::size_t ways, std::size_t bytes, Noise noise = Noise::network, double share = 1);

  /// Rests with `way`, whose calls are known to take `seconds`, before the first round. What the others take is not
  /// known: as much again is set aside for each.
  void rest_first(std::size_t way, double seconds);

  /// The way for the next call.
  std::size_t way() const { return rest_ > 0 ? ahead_ : way_; }
  /// Whether the next call is one of a rest: then rested() takes the place of add().
  bool rests() const { return rest_ > 0; }
  void rested() { --rest_; }
  /// The way to rest with.
  std::size_t ahead() const { return ahead_; }
  /// Takes the seconds that the call spent. True when a round is over: then exchange times() and settle().
  bool add(double seconds);
  /// This rank's times so far in seconds: what each way counts by, then the best round of each way. Of a way that was
  /// dropped, what it was then.
  const std::vector<double>& times() const { return times_; }
  /// Takes all ranks' times(), rank after rank. True when the trial is over; way() is then the way to stay with.
  bool settle(std::span<const double> of_all_ranks);
  /// Whether calls are so long that a call's time is to be taken after all ranks have left it. The same on all ranks.
  bool is_long() const { return long_; }
  /// After settle(): the times that were compared.
  const std::vector<double>& agreed_times() const { return agreed_; }
  /// Whether the next settle() is that of a part of a row, and not of a round of all ways that are left.
  bool is_in_row() const { return row_; }
  /// Whether a glance was compared that took calls for as long as they are.
  bool has_compared() const { return !first_; }

private:
  bool next_way();
  std::uint32_t rounds_with_glance() const;
  void forget_rounds();
  bool are_alike(std::size_t best) const;
  bool caches_decide() const;
  bool may_have_a_final() const;
  bool begin_final(std::size_t best);
  std::size_t best_of_those_left() const;
  std::size_t best_of_all() const;
  std::size_t best_in_a_row() const;
  bool is_worth_a_row(std::size_t way) const;
  std::size_t next_row() const;
  bool begin_row_or_end();
  bool settle_part();
  void begin_part(double seconds_of_a_call, double seconds_of_the_part);
  bool end_row(double seconds_of_a_call);
  void set_runs();
  void set_final_runs();
  double behind(std::size_t way, std::size_t best) const;
  double limit_of(std::size_t best, double counted) const;
  void note_cost(std::size_t best);
  void begin_rest(std::size_t best, double expected);

  Noise noise_;
  std::size_t bytes_; ///< whose pace is followed
  double price_;      ///< seconds of rest for each second that slower ways cost
  std::uint32_t uncounted_, rounds_;
  bool first_ = true;  ///< round: the glance
  bool again_ = false; ///< there was a glance that took calls for longer or shorter ones than they are
  bool final_ = false; ///< the rounds of those that are close
  bool row_ = false;   ///< of one way
  bool long_ = false;
  std::uint32_t call_ = 0;
  std::size_t way_ = 0;
  std::size_t ahead_ = 0;           ///< the way to rest with
  std::uint64_t rest_ = 0;          ///< calls that are left of a rest
  double debt_ = 0;                 ///< seconds that slower ways have cost, beyond what was rested for
  double sum_ = 0;                  ///< of the counted calls of the current run
  std::vector<std::uint32_t> runs_; ///< calls of a run, by way
  std::vector<bool> dropped_;
  std::vector<double> times_, agreed_;
  std::vector<double> quickest_;                   ///< the best round of each way, as all ranks agreed
  std::vector<std::vector<double>> rounds_of_way_; ///< this rank's, ascending
  std::vector<std::uint8_t> rows_had_;             ///< by way
  std::vector<double> in_runs_;                    ///< what a way that has had a row counted by before
  std::vector<double> parts_;                      ///< of the current row, as all ranks agreed
  bool first_part_ = false;                        ///< which does not count
  double before_row_ = 0;                          ///< what its way counts by until it is over
};

} // namespace strata::tune
