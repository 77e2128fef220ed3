// SPDX-License-Identifier: BSD-3-Clause
// What strata_mpi_introspect() hands out. Without the JSON library the texts are empty objects.
//
// Nothing is thrown at the program. What fails on this rank alone (there is no memory for a text) has the answer of
// what is not there. In what all ranks do together an exception ends the process: the others would wait for this rank
// for ever.
#include "mpi/state.h"

#include "config.h"
#include "strata/strata_mpi.h"

#ifdef HAVE_JSON
#include "mpi/describe.h"
#endif

#include <algorithm>
#include <cstring>
#include <exception>

namespace strata::mpi {
namespace {

std::size_t hand_out(const std::string& whole, char* text, std::size_t room) {
  if (text != nullptr && room > 0) {
    const std::size_t bytes = std::min(room - 1, whole.size());
    std::memcpy(text, whole.data(), bytes);
    text[bytes] = '\0';
  }
  return whole.size() + 1;
}

std::string describe_with(const comm::Context& context, const std::uint64_t* bytes) {
#ifdef HAVE_JSON
  return bytes != nullptr ? describe_choice(context, *bytes) : describe(context, *state().process);
#else
  static_cast<void>(context);
  static_cast<void>(bytes);
  return "{}";
#endif
}

/// What `ask` says, which concerns no other rank; `otherwise` when it fails.
template <typename Answer, typename Ask>
Answer on_this_rank(Answer otherwise, const Ask& ask) noexcept {
  try {
    return ask();
  } catch (const std::exception&) {
    return otherwise;
  }
}

/// What `ask` says of the context of a communicator, which is made like for a call of the program that is due;
/// `otherwise` when there is none.
template <typename Answer, typename Ask>
Answer with_context(const void* communicator, Answer otherwise, const Ask& ask) noexcept {
  State& now = state();
  if (!now.active.load(std::memory_order_acquire)) return otherwise;
  CalledCommunicator called(now, *static_cast<const MPI_Comm*>(communicator));
  CommunicatorRecord* const record = called.record();
  if (record == nullptr || !record->eligible) return otherwise;
  std::unique_lock lock(record->mutex, std::defer_lock);
  if (now.several_threads) lock.lock();
  if (!record->context && (record->failed || !make_context(now, *record))) return otherwise;
  return ask(*record->context);
}

/// A text that tells of the context; `otherwise` when there is none.
template <typename Tell>
std::string text_of_context(const void* communicator, const char* otherwise, const Tell& tell) noexcept {
  return with_context(communicator, std::string(otherwise), [&](const comm::Context& context) {
    return on_this_rank(std::string(otherwise), [&] { return tell(context); });
  });
}

std::size_t context_text(const void* communicator, char* text, std::size_t room) noexcept {
  const auto tell = [](const comm::Context& context) { return describe_with(context, nullptr); };
  return hand_out(text_of_context(communicator, "{}", tell), text, room);
}

std::size_t choice_text(const void* communicator, std::uint64_t bytes, char* text, std::size_t room) noexcept {
  const auto tell = [&](const comm::Context& context) { return describe_with(context, &bytes); };
  return hand_out(text_of_context(communicator, "{}", tell), text, room);
}

std::size_t statistics_text(char* text, std::size_t room) noexcept {
#ifdef HAVE_JSON
  return hand_out(on_this_rank(std::string("{}"), [] { return describe(statistics(state())); }), text, room);
#else
  return hand_out("{}", text, room);
#endif
}

int set_option(const char* name, const char* value) noexcept {
  State& now = state();
  if (!now.process || name == nullptr || value == nullptr) return -1;
  return on_this_rank(-1, [&] { return now.process->set_agreed_option(name, value) ? 0 : -1; });
}

int measure_links(const void* communicator) noexcept {
  return with_context(communicator, -1, [&](comm::Context& context) {
    // For messages of the MPI library's; jobs of one node have none.
    State& now = state();
    int alike = MPI_UNEQUAL;
    PMPI_Comm_compare(*static_cast<const MPI_Comm*>(communicator), MPI_COMM_WORLD, &alike);
    if (now.world == MPI_COMM_NULL && (alike == MPI_IDENT || alike == MPI_CONGRUENT)) duplicate_world(now);
    return context.measure_links() ? 0 : -1;
  });
}

std::size_t links_text(const void* communicator, char* text, std::size_t room) noexcept {
  const auto tell = [](const comm::Context& context) { return context.links().text; };
  return hand_out(text_of_context(communicator, "", tell), text, room);
}

int use_way(const void* communicator, std::uint64_t bytes, const char* way) noexcept {
  if (way == nullptr) return -1;
  return with_context(communicator, -1, [&](comm::Context& context) { return context.use_way(bytes, way) ? 0 : -1; });
}

int set_trial(const void* communicator, unsigned percent) noexcept {
  return with_context(communicator, -1, [&](comm::Context& context) { return context.set_trial(percent) ? 0 : -1; });
}

std::size_t pairs_text(const void* communicator, char* text, std::size_t room) noexcept {
#ifdef HAVE_JSON
  return hand_out(text_of_context(communicator, "{}", describe_pairs), text, room);
#else
  static_cast<void>(communicator);
  return hand_out("{}", text, room);
#endif
}

} // namespace

const void* introspect() noexcept {
  static const strata_mpi_introspection table = {
      6,
      reinterpret_cast<void (*)()>(state().native_allreduce),
      context_text,
      choice_text,
      statistics_text,
      set_option,
      measure_links,
      links_text,
      use_way,
      pairs_text,
      set_trial,
  };
  return &table;
}

} // namespace strata::mpi
