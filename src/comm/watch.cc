// SPDX-License-Identifier: BSD-3-Clause
#include "comm/watch.h"

#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>

namespace strata::comm {
namespace {

// The hook is called every few microseconds; a look at the clock now and then is enough.
constexpr std::uint32_t turns_per_look = 64;
constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t publish_after = second / 10; // and again, for what is waited for changes
constexpr std::int64_t check_after = second;

std::int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count(); // CLOCK_MONOTONIC
}

std::string text_of(const Wait& wait) {
  constexpr std::size_t most = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, wait.awaited.size()); ++i)
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", wait.awaited[i], wait.hosts[i]);
  if (wait.awaited.size() > most) text += fmt::format(" and {} more", wait.awaited.size() - most);
  return text.empty() ? "what it sent to be taken" : (wait.awaited.size() == 1 ? "rank " : "ranks ") + text;
}

} // namespace

engine::IdleHook Watch::begin(const Waiting& who) {
  who_ = &who;
  return {turn, this};
}

void Watch::restart() {
  began_ = 0;
  if (published_) activity_.waiting.store(0, std::memory_order_relaxed);
  published_ = false;
}

void Watch::turn(void* pointer) {
  Watch& self = *static_cast<Watch*>(pointer);
  if (self.before_.function != nullptr) self.before_.function(self.before_.state);
  if (++self.turns_ % turns_per_look == 0) self.look();
}

void Watch::look() {
  const std::int64_t clock = now();
  if (began_ == 0) {
    began_ = clock;
    next_publish_ = clock + publish_after;
    next_check_ = clock + check_after;
    next_report_ = clock + static_cast<std::int64_t>(hang_seconds_) * second;
    return;
  }
  if (who_ == nullptr) return;
  try {
    look_closer(clock);
  } catch (const std::bad_alloc&) { // at the next look, then
  }
}

void Watch::look_closer(std::int64_t clock) {
  if (clock >= next_publish_) {
    publish(who_->wait());
    published_ = true;
    next_publish_ = clock + publish_after;
  }
  if (clock >= next_check_) {
    if (trouble_.empty()) trouble_ = who_->find_trouble();
    next_check_ = clock + check_after;
  }
  if (hang_seconds_ != 0 && clock >= next_report_) {
    report(who_->wait(), clock - began_);
    next_report_ = clock + (clock - began_); // after twice the time again
  }
}

void Watch::publish(const Wait& wait) const {
  constexpr auto relaxed = std::memory_order_relaxed;
  activity_.rank.store(rank_, relaxed);
  activity_.ranks.store(ranks_, relaxed);
  put_name(activity_, wait.communicator);
  activity_.call.store(wait.call, relaxed);
  activity_.bytes.store(wait.bytes, relaxed);
  activity_.since_nanoseconds.store(began_, relaxed);
  const std::size_t shown = std::min(Activity::most_awaited, wait.awaited.size());
  for (std::size_t i = 0; i < shown; ++i)
    activity_.awaited[i].store(wait.awaited[i], relaxed);
  activity_.awaited_count.store(static_cast<std::int32_t>(wait.awaited.size()), relaxed);
  activity_.waiting.store(1, std::memory_order_release);
}

void Watch::report(const Wait& wait, std::int64_t waited) const {
  log_line(fmt::format("rank {} of {} has waited {} s in call {}{}{} ({} bytes, {}{}{}) for {}", rank_, ranks_,
                       waited / second, wait.call, wait.communicator.empty() ? "" : " on ", wait.communicator,
                       wait.bytes, wait.way, wait.step.empty() ? "" : ", ", wait.step, text_of(wait)));
}

} // namespace strata::comm
