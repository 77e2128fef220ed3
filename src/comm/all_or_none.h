// SPDX-License-Identifier: BSD-3-Clause
// Steps of all ranks with exchanges between them, of which one rank may run out of memory.
//
// A rank that throws std::bad_alloc does not come to the exchange in which the others wait for it, and does not know
// how long that one's message is. So while such steps run, every exchange begins with one of frames of a fixed length:
// "I am here", or "I have no memory". The rank that threw sends the second in place of whatever came next, and all
// leave together. A last frame after the steps does the same for a rank that throws when there is nothing more to
// exchange. A short message is in the frame itself, so that most exchanges are one: a first call makes dozens of them,
// each of which takes a millisecond and more where many ranks share a core.
//
// In the same way a rank leaves that finds out, before its first step, that it cannot take part, and one for which an
// exchange failed: its next frame says so. (What it says in a frame that fails as well, and in one without a message,
// it has nobody to tell; nor does it hear, where its exchange fails, that another rank leaves in that very one.)
#pragma once

#include "comm/bootstrap.h"

#include <memory>
#include <new>

namespace strata::comm {

/// "a rank ran out of memory", as far as there is memory to say it.
Error out_of_memory() noexcept;
/// "a rank cannot tell device memory from the host's", likewise.
Error cannot_tell_memory() noexcept;
/// "an exchange failed on a rank", likewise.
Error exchange_failed() noexcept;

/// A bootstrap that can do that over another one.
class AllOrNone final : public Bootstrap {
public:
  explicit AllOrNone(std::unique_ptr<Bootstrap> exchanges)
      : exchanges_(std::move(exchanges)), frame_bytes_(frame_bytes(exchanges_->ranks())),
        frames_(static_cast<std::size_t>(exchanges_->ranks()) * frame_bytes_) {}

  /// Takes the place of run() on a rank that has no memory for such an object either: tells the others so in their
  /// first exchange. Into `frames`, of bytes_to_decline(), goes what they say. Collective; takes no memory.
  static void decline(Bootstrap& exchanges, std::byte* frames) noexcept;
  /// Enough for every set of up to so many ranks.
  static std::size_t bytes_to_decline(std::int32_t most_ranks);

  /// Whether what a rank gives to an exchange is a frame without a message; for tests. (No value has the length of a
  /// frame, which is odd.)
  static bool is_vote_alone(const void* given, std::size_t bytes) {
    return bytes == sizeof(Frame) && static_cast<const Frame*>(given)->bytes == 0;
  }
  /// Longer messages take a second exchange.
  static constexpr std::size_t most_in_frame = 61;

  std::int32_t rank() const override { return exchanges_->rank(); }
  std::int32_t ranks() const override { return exchanges_->ranks(); }
  std::string name() const override { return exchanges_->name(); }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    if (running_ && fits_in_frame(bytes)) return all_gather_in_frames(mine, all, bytes);
    if (running_ && !vote()) return Error(trouble_);
    Status gathered = exchanges_->all_gather(mine, all, bytes);
    if (running_ && !gathered) note_failure();
    return gathered;
  }
  void wait_for_all(engine::IdleHook meanwhile) override { exchanges_->wait_for_all(meanwhile); }
  engine::IdleHook idle_hook() const override { return exchanges_->idle_hook(); }
  bool takes_any_thread() const override { return exchanges_->takes_any_thread(); }
  bool has_native() const override { return exchanges_->has_native(); }
  std::string native_name() const override { return exchanges_->native_name(); }
  bool native_send(std::int32_t peer, int tag, const void* data, std::size_t bytes) override {
    return exchanges_->native_send(peer, tag, data, bytes);
  }
  bool native_receive(std::int32_t peer, int tag, void* data, std::size_t bytes) override {
    return exchanges_->native_receive(peer, tag, data, bytes);
  }

  /// Runs `steps` on all ranks, a function of no arguments that exchanges through this object. The error, the same on
  /// all ranks wherever each of them was: one of them ran out of memory in it, or does not take part, or they could not
  /// exchange. What the steps have changed so far is then not the same on all of them. Collective; nothing is thrown.
  /// One at a time.
  template <typename Steps>
  Status run(const Steps& steps) noexcept {
    running_ = together_ = true;
    mine_ = Vote::here;
    try {
      steps();
    } catch (const std::bad_alloc&) {
      mine_ = Vote::out_of_memory;
    }
    const bool all_ran = vote();
    running_ = false;
    if (all_ran) return ok();
    return std::move(trouble_);
  }

  /// Whether every exchange has gone through on every rank, as far as this one knows. If not, others may have heard in
  /// one what this rank has not, or the other way round.
  bool exchanges_work() const { return exchanges_work_; }
  /// Within steps: that, and that no rank has left them.
  bool is_whole() const { return exchanges_work_ && together_; }

  /// Within steps, which are to end at once: this rank does not take part, for it cannot tell device memory from the
  /// host's.
  void stay_away() { mine_ = Vote::cannot_tell_memory; }

  /// Within steps: runs `own` on this rank, then waits for all as wait_for_all() does. If `own` lacks memory, that is
  /// what the next exchange tells. If a rank has left already, as the next exchange tells too, does nothing.
  /// Collective.
  template <typename Own>
  void run_and_wait(const Own& own, engine::IdleHook meanwhile) {
    if (!vote()) return;
    try {
      own();
    } catch (const std::bad_alloc&) {
      mine_ = Vote::out_of_memory;
    }
    wait_for_all(meanwhile);
  }

private:
  /// What a rank says in each exchange.
  enum class Vote : std::uint8_t { out_of_memory, here, cannot_tell_memory, exchange_failed };
  static constexpr std::size_t votes = 4;
  /// What goes around, between processes of the same build. Of more ranks than `most_with_messages` only its first
  /// byte: each rank keeps room for the frames of all, for each of its communicators.
  struct Frame {
    Vote vote;
    std::uint8_t bytes; ///< of the message that is in it
    std::byte message[most_in_frame];
  };
  static constexpr std::int32_t most_with_messages = 256;
  static std::size_t frame_bytes(std::int32_t ranks) { return ranks <= most_with_messages ? sizeof(Frame) : 1; }

  bool fits_in_frame(std::size_t bytes) const { return bytes <= most_in_frame && frame_bytes_ == sizeof(Frame); }
  Status all_gather_in_frames(const void* mine, void* all, std::size_t bytes);
  /// Into frames_; no bytes: a vote alone.
  Status exchange_frames(const void* message, std::size_t bytes) noexcept;
  /// What the frames say: whether all ranks are here, each with a message of so many bytes. From the first time on that
  /// one is not, no further exchange is tried, and `trouble_` says why.
  bool all_are_here(std::size_t bytes) noexcept;
  /// An exchange of frames without a message, and what they say. Where there was none, no further one is tried either.
  bool vote() noexcept;
  /// Of an exchange whose peers will hear of it in the next one.
  void note_failure() noexcept {
    mine_ = Vote::exchange_failed;
    exchanges_work_ = false;
  }

  std::unique_ptr<Bootstrap> exchanges_;
  std::size_t frame_bytes_;
  std::vector<std::byte> frames_; ///< by rank; made before memory can be short
  bool running_ = false, together_ = true, exchanges_work_ = true;
  Vote mine_ = Vote::here;
  Error trouble_; ///< unless together
};

} // namespace strata::comm
