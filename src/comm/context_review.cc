// SPDX-License-Identifier: BSD-3-Clause
// After a trial, and in its rests: links change (a NIC falls back to a slower rate, another job comes and goes, ranks
// that are not bound, or the cores of a virtual machine, move to other caches), so now and then some calls are timed,
// and when the time is another than it was, all ways are tried anew.
//
// A look costs one exchange of a number, and the votes around it. It comes after a number of calls that all ranks know,
// about every eighth of a second, but not before 2 calls. What it sees must be seen again after a while, which
// outlasts the spells that calls have where ranks share cores (tune/look.h).
//
// But which stores are best depends on the caches that the ranks' cores share: where cores move, those that lost may be
// the faster ones by now, while the way that won takes about the time that it took. (Between two cores of an EPYC of
// family 25, model 17, 4 KiB published around the caches take 1.1 us where these share no cache, 0.9 where they do;
// through them 2.1 and 0.3.) So now and then a look is at such a rival: the same algorithm with other stores, whose
// results are the same bits. Only where every rank has a core: else calls vary by more than that.
//
// A profile that was left by an earlier job, or by a person, may be wrong from the first call on: then nothing changes,
// and no look sees it. So the rounds of trials are held against what it lets expect. That costs no message.
#include "comm/context.h"

#include "base/log.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata::comm {
namespace {

constexpr double seconds_between_looks = 0.125;
constexpr double seconds_before_second_look = 50e-3, least_calls_between_looks = 2;
/// Two looks in a row must see such a difference. Ranks that arrive unevenly make single calls longer or shorter.
constexpr double much_slower = 1.5, much_faster = 1 / much_slower;
/// Each trial that a look started makes the next look come later, up to this many times.
constexpr std::uint32_t most_doublings = 6;
/// After so many, faster calls must be this much faster: where calls of two kinds have one size, and one kind takes 1.5
/// times as long as the other, ways would be tried anew for ever, in turn for being slower and for being faster.
constexpr double very_much_faster = 0.5;
/// A rival finds the memory as other stores left it, and may be faster yet than a look sees.
constexpr double clearly_faster = 1 / 1.25;
constexpr std::uint32_t looks_before_a_rival = 4;
/// Of the time of calls, what looks at rivals may take more than the calls that they are at, by what was measured of
/// both. (64 MiB between far cores take 8.9 ms around the caches, and 34 through them: four calls may delay by 0.1 s.)
constexpr double most_for_rivals = 0.01;

/// From here on, predictions between nodes are mostly within 2% of what is measured, and were 39% off at worst, in two
/// racks (docs/predictions.md). With shorter vectors a message's own price decides, which no profile tells.
constexpr std::size_t least_bytes_to_judge = std::size_t{256} << 10;
/// A call is judged where no more than this part of its predicted time is left if a byte between nodes takes none: what
/// cores do within a node may take five times what is predicted, and the whole then 1.8 times as long.
constexpr double most_beside_links = 0.2;
/// Which is no contradiction yet, even with 39% on top of it. With a card that has fallen back to a quarter, every way
/// takes four times as long.
constexpr double far_from_profile = 2.5;
/// In a row, of one size or of several: one round may be disturbed, or run on what a network lets pass at first.
constexpr std::uint32_t rounds_to_reject_a_profile = 2;

std::uint64_t calls_before_look(double seconds_of_a_call, bool is_second, std::uint32_t reviewed) {
  if (is_second)
    return static_cast<std::uint64_t>(
        std::max(least_calls_between_looks, seconds_before_second_look / seconds_of_a_call));
  const double calls = std::max(least_calls_between_looks, seconds_between_looks / seconds_of_a_call);
  return static_cast<std::uint64_t>(calls) << std::min(reviewed, most_doublings);
}

} // namespace

/// What a trial rests with, or has found.
Context::Way& Context::watched_way(Decision& decision) {
  return decision.trial ? decision.trial->ways[decision.trial->trial.ahead()] : decision.way;
}

/// What the next look is at, or that which is under way.
Context::Way& Context::looked_at(Decision& decision) {
  const std::optional<std::size_t>& rival = decision.review->rival;
  return rival ? decision.others[*rival] : watched_way(decision);
}

/// In turn, where there are several.
void Context::choose_rival(Decision& decision) {
  Review& review = *decision.review;
  review.rival.reset();
  if (decision.trial) review.looks_since_rival = 0; // they are at what it rests with
  if (noise() != tune::Noise::little || review.looks_since_rival < looks_before_a_rival) return;
  review.looks_since_rival = 0;
  const Way& way = decision.way;
  const double allowed = most_for_rivals * static_cast<double>(review.calls_since_rival) * way.seconds;
  for (std::size_t i = 1; i <= decision.others.size() && !review.rival; ++i) {
    const std::size_t other = (review.last_rival + i) % decision.others.size();
    const Way& rival = decision.others[other];
    if (rival.name != way.name || rival.plan != way.plan || rival.stores.publish == way.stores.publish) continue;
    if (review.look.calls() * (rival.seconds - way.seconds) <= allowed) review.rival = review.last_rival = other;
  }
  if (review.rival) review.calls_since_rival = 0;
}

void Context::begin_review(Decision& decision, std::size_t bytes) {
  Way& way = watched_way(decision);
  end_look(way);
  if (way.seconds <= 0) return;
  tune::Look look(way.seconds, bytes, noise());
  if (!decision.review) decision.review = std::make_unique<Review>(look);
  Review& review = *decision.review;
  review.look = look;
  if (review.alarms == 0) choose_rival(decision);
  review.calls_before = calls_before_look(way.seconds, review.alarms > 0, decision.reviewed);
  review.calls_since_rival += review.calls_before + review.look.calls();
  if (way.path == Path::board && !decision.trial)
    way.look_at = way.tally.calls + std::exchange(review.calls_before, std::uint64_t{0});
}

void Context::end_look(Way& way) {
  if (way.path == Path::board_in_review) way.path = Path::board;
}

Outcome Context::run_reviewed(const Call& call, Decision& decision, std::size_t bytes) {
  Review& review = *decision.review;
  if (review.calls_before > 0) {
    --review.calls_before;
    return run(call, watched_way(decision), bytes);
  }
  review.is_timing = true;
  review.started = std::chrono::steady_clock::now();
  const Outcome outcome = run(call, looked_at(decision), bytes);
  if (outcome == Outcome::native) return Outcome::native_on_trial;
  if (outcome == Outcome::done) conclude_reviewed_call(decision, bytes);
  return outcome;
}

void Context::conclude_reviewed_call(Decision& decision, std::size_t bytes) {
  Review& review = *decision.review;
  review.is_timing = false;
  if (watched_way(decision).is_timed_to_the_last) wait_for_last_to_leave(); // as in its trial
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - review.started;
  if (!review.look.add(spent.count())) return;
  if (Status ran = bootstrap_->run([&] { conclude_look(decision, bytes); }); !ran)
    leave_all_to_native(std::move(ran).error());
}

Context::Review::Change Context::change_in(Decision& decision, double seconds) {
  using Change = Review::Change;
  Review& review = *decision.review;
  const bool is_seldom = decision.reviewed < most_doublings;
  if (review.rival) {
    const double enough = is_seldom ? clearly_faster : very_much_faster;
    return seconds < enough * review.seconds_since_rival ? Change::rival_is_faster : Change::none;
  }
  // One look may be disturbed, and a rival be held against it twice.
  const bool is_first = review.looks_since_rival++ == 0;
  review.seconds_since_rival = is_first ? seconds : std::min(seconds, review.seconds_since_rival);
  const double before = watched_way(decision).seconds;
  if (seconds > much_slower * before) return Change::longer;
  // A rest with a way that has become faster is to go on.
  const double enough = is_seldom ? much_faster : very_much_faster;
  return !decision.trial && seconds < enough * before ? Change::shorter : Change::none;
}

/// As in a trial, the least of the ranks' times, because whoever comes last waits for nobody.
void Context::conclude_look(Decision& decision, std::size_t bytes) {
  using Change = Review::Change;
  Review& review = *decision.review;
  const double mine = review.look.seconds();
  if (!bootstrap_->all_gather(&mine, seconds_of_all_.data(), sizeof mine)) {
    review.alarms = 0;
    return begin_review(decision, bytes); // as after any look; run() makes it the last one, on all ranks
  }
  const double seconds = *std::min_element(seconds_of_all_.begin(), seconds_of_all_.end());
  const Change change = change_in(decision, seconds);
  const bool is_same = std::exchange(review.seen, change) == change;
  review.alarms = change == Change::none ? 0 : is_same ? review.alarms + 1 : 1;
  if (review.alarms < 2) return begin_review(decision, bytes);
  review.alarms = 0;
  ++decision.reviewed;
  end_look(watched_way(decision));
  if (options_.log_choice && rank_ == 0) log_change(decision, seconds, bytes);
  review.rival.reset();
  review.looks_since_rival = 0;
  review.calls_since_rival = 0; // of a way that may take another time from here on
  try_anew(decision, bytes);
  if (!probe_ && change == Change::longer) prepare_probe(); // what is known of the links may not hold any more
}

/// All ways that were tried for this size class, and none that was dropped when racks were found.
void Context::try_anew(Decision& decision, std::size_t bytes) {
  std::vector<Way> ways;
  if (decision.trial)
    ways = std::move(decision.trial->ways);
  else
    ways.push_back(std::exchange(decision.way, Way{}));
  for (Way& way : decision.others)
    ways.push_back(std::move(way));
  decision.others.clear();
  begin_trial(decision, std::move(ways), bytes);
}

/// By what is known now.
Context::Price Context::price_of(const Way& way, std::size_t bytes) const {
  const auto candidate = tune::candidate_of(way.in_table, situation_, options_, tune::size_class(bytes));
  if (!candidate || candidate->kind != tune::Candidate::Kind::schedule) return {};
  tune::Parameters without = situation_.parameters;
  for (const topo::LinkKind kind : {topo::LinkKind::network, topo::LinkKind::uplink}) {
    tune::LinkParameters& link = without.links[static_cast<std::size_t>(kind)];
    link.per_byte = link.per_byte_of_rank = 0;
  }
  tune::Costs costs;
  const auto seconds = [&](const tune::Parameters& parameters) {
    return tune::predict(situation_.job_of(*candidate), candidate->composition, bytes, candidate->slice_bytes,
                         parameters, costs)
        .seconds(candidate->window);
  };
  const double all = seconds(situation_.parameters);
  return {all, seconds(without) / all};
}

/// After a round of a trial: the times are those that all ranks have agreed on, so all come to the same. The fastest
/// schedule stands for all: what makes some algorithms slow (messages that meet in a queue that drops them) says
/// nothing of the links. Once in a context, because what is measured then takes the profile's place.
void Context::hold_against_profile(const Probation& trial, std::size_t bytes) {
  const Way* const way = fastest_schedule(trial);
  if (!profile_doubts_ || probe_ || way == nullptr || !trial.trial.has_compared()) return;
  if (bytes < least_bytes_to_judge) return;
  const Price price = price_of(*way, bytes);
  if (price.beside_links > most_beside_links) return;
  // It may have been tried before the links were known.
  const double seconds = way->seconds, expected = way->predicted_after == adoptions_ ? way->predicted : price.seconds;
  const bool is_far = seconds > far_from_profile * expected || expected > far_from_profile * seconds;
  *profile_doubts_ = is_far ? *profile_doubts_ + 1 : 0;
  if (*profile_doubts_ < rounds_to_reject_a_profile) return;
  profile_doubts_.reset();
  has_rejected_profile_ = true;
  if (rank_ == 0 && links_known_.origin == Origin::this_job)
    if (const auto profile = tune::profile_from(links_known_.text, "profile"))
      process_.known_links().forget(*profile, options_.profile);
  const bool was_told = links_known_.origin != Origin::none && links_known_.origin != Origin::this_job;
  if (options_.log_choice && rank_ == 0)
    log_line(fmt::format("{} ranks on {} nodes, {} bytes: the links are not as {}: {} takes {}, not {}", ranks_,
                         situation_.job.nodes, bytes, was_told ? "in the profile" : "they were measured", way->name,
                         format_duration(seconds), format_duration(expected)));
  prepare_probe();
}

} // namespace strata::comm
