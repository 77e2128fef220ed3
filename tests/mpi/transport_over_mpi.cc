// SPDX-License-Identifier: BSD-3-Clause
// What the tests of MpiTransport run on every rank: `transport_over_mpi CASE`. Ends with status 0 if the case holds on
// all ranks; says on standard error what does not.
#include "../unit/messages.h"
#include "transport/mpi/mpi_transport.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>

namespace {
std::atomic<std::uint64_t> allocations{0};
} // namespace

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes); memory != nullptr) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {
using namespace strata;
using namespace strata::transport;

int rank = 0;
int ranks = 0;
int failures = 0;

// Must not allocate: a case counts allocations.
void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "rank %d: %s\n", rank, what);
}

std::vector<PeerAddress> everybody(const Transport& transport, std::uint64_t context) {
  char mine[32] = "";
  std::snprintf(mine, sizeof mine, "%s", transport.address().c_str());
  std::vector<char> all(sizeof mine * static_cast<std::size_t>(ranks));
  MPI_Allgather(mine, sizeof mine, MPI_CHAR, all.data(), sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<PeerAddress> addresses;
  for (std::size_t peer = 0; peer < static_cast<std::size_t>(ranks); ++peer)
    addresses.push_back({100 * context + peer, &all[sizeof mine * peer]});
  return addresses;
}

/// A channel of the kind that the tests use: message `index` goes to, and comes from, the index-th other rank.
struct Exchange {
  Exchange(MpiTransport& transport, std::uint64_t context, std::uint32_t window, std::size_t most_bytes,
           std::size_t most_incoming_bytes) {
    const auto addresses = everybody(transport, context);
    links = std::move(*transport.link(addresses, rank, std::vector<bool>(addresses.size(), true)));
    ChannelShape shape;
    shape.window = window;
    for (std::int32_t peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      shape.outgoing.push_back({{1, 0, 0}, 0, {peer}, most_bytes});
      shape.incoming.push_back({{1, 0, 0}, 0, peer, most_incoming_bytes});
      peers.push_back(peer);
    }
    channel = std::move(*links->prepare(shape));
    expect(bool(channel->connect({})), "connect() failed");
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// Sends slices [first, end) to all and takes theirs.
  void run(std::uint64_t first, std::uint64_t end, const std::vector<unsigned char>& sent,
           const std::vector<std::vector<unsigned char>>& wanted) {
    for (std::uint64_t slice = first; slice < end; ++slice)
      for (std::size_t index = 0; index < peers.size(); ++index)
        expect(wait_for([&] {
                 channel->progress();
                 return channel->start_send(index, slice, sent.data(), sent.size());
               }),
               "no room for a send");
    for (std::uint64_t slice = first; slice < end; ++slice) {
      for (std::size_t index = 0; index < peers.size(); ++index) {
        const void* bytes = nullptr;
        wait_for([&] {
          channel->progress();
          bytes = channel->arrived(index, slice);
          return bytes != nullptr && channel->sent(index, slice);
        });
        expect(bytes != nullptr, "nothing came");
        if (bytes == nullptr) continue;
        expect(channel->arrived_bytes(index, slice) == wanted[index].size(), "a message has another size");
        expect(reinterpret_cast<std::uintptr_t>(bytes) % 64 == 0, "a payload is not aligned");
        expect(std::memcmp(bytes, wanted[index].data(), wanted[index].size()) == 0, "a message has other bytes");
        channel->release(index, slice);
      }
      channel->finished(slice);
    }
  }

  std::vector<std::vector<unsigned char>> patterns_of_peers(std::size_t bytes) const {
    std::vector<std::vector<unsigned char>> result;
    for (const std::int32_t peer : peers)
      result.push_back(pattern(bytes, static_cast<std::size_t>(peer)));
    return result;
  }

  std::unique_ptr<Links> links;
  std::unique_ptr<Channel> channel;
  std::vector<std::int32_t> peers;
};

void carries_every_size(MpiTransport& transport) {
  std::uint64_t context = 0;
  for (const std::size_t bytes : {1u, 8u, 4096u, 32768u, 65536u, 70000u, 1048576u}) {
    Exchange exchange(transport, ++context, 4, bytes, bytes);
    const auto sent = pattern(bytes, static_cast<std::size_t>(rank));
    const auto wanted = exchange.patterns_of_peers(bytes);
    for (std::uint64_t first = 0; first < 12; first += 4)
      exchange.run(first, first + 4, sent, wanted);
    expect(wait_for([&] {
             exchange.channel->progress();
             return exchange.channel->flushed();
           }),
           "it was never flushed");
    expect(exchange.channel->quiescent(), "sends are still under way");
    expect(exchange.channel->failure() == nullptr, "the channel failed");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void allocates_nothing_when_warm(MpiTransport& transport) {
  Exchange exchange(transport, 1, 4, 40000, 40000);
  const auto sent = pattern(40000, static_cast<std::size_t>(rank));
  const auto wanted = exchange.patterns_of_peers(40000);
  // How many buffers are in use at once is a matter of timing, so it may take some rounds until there are enough.
  std::uint64_t quiet_rounds = 0, most_quiet_rounds = 0, before = allocations.load();
  for (std::uint64_t first = 0; first < 400; first += 4) {
    exchange.run(first, first + 4, sent, wanted);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::uint64_t after = allocations.load();
    quiet_rounds = after == before ? quiet_rounds + 1 : 0;
    most_quiet_rounds = std::max(most_quiet_rounds, quiet_rounds);
    before = after;
  }
  expect(most_quiet_rounds >= 20, "warm slices still allocate");
}

void refuses_a_wrong_size(MpiTransport& transport) {
  Exchange exchange(transport, 1, 1, 100, rank == 1 ? 99 : 100);
  const auto sent = pattern(100, 0);
  for (std::size_t index = 0; index < exchange.peers.size(); ++index)
    expect(exchange.channel->start_send(index, 0, sent.data(), sent.size()), "no room for a send");
  if (rank == 1) {
    wait_for([&] {
      exchange.channel->progress();
      return exchange.channel->failure() != nullptr;
    });
    expect(exchange.channel->failure() != nullptr, "a message that is too long was taken");
    expect(exchange.channel->arrived(0, 0) == nullptr, "a message that is too long can be read");
  } else {
    expect(wait_for([&] {
             exchange.channel->progress();
             return exchange.channel->arrived(0, 0) != nullptr && exchange.channel->arrived(1, 0) != nullptr;
           }),
           "nothing came");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < 100; ++turn) // takes what rank 1 has not refused yet: MPICH complains of it at the end
    exchange.channel->progress();
}

void serves_two_threads(MpiTransport& transport) {
  Exchange first(transport, 1, 2, 5000, 5000);
  Exchange second(transport, 2, 2, 100000, 100000);
  const auto work = [](Exchange& exchange, std::size_t bytes) {
    const auto sent = pattern(bytes, static_cast<std::size_t>(rank));
    const auto wanted = exchange.patterns_of_peers(bytes);
    for (std::uint64_t slice = 0; slice < 50; ++slice)
      exchange.run(slice, slice + 1, sent, wanted);
  };
  std::thread other([&] { work(first, 5000); });
  work(second, 100000);
  other.join();
  MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  {
    MpiTransport transport(world);
    if (name == "sizes") {
      carries_every_size(transport);
    } else if (name == "allocations") {
      allocates_nothing_when_warm(transport);
    } else if (name == "refusal") {
      refuses_a_wrong_size(transport);
    } else if (name == "threads") {
      expect(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE is not available");
      if (provided == MPI_THREAD_MULTIPLE) serves_two_threads(transport);
    } else {
      expect(false, "unknown case: sizes, allocations, refusal or threads are known");
    }
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&world);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
