// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mpi/mpi_transport.h"

#include "transport/message_channel.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace strata::transport {
namespace {

constexpr int message_tag = 1;
constexpr std::size_t header_room = BufferPool::alignment;
static_assert(sizeof(WireHeader) <= header_room);
constexpr std::size_t most_idle_buffer_bytes = std::size_t{32} << 20;
constexpr std::size_t most_bytes_in_flight = std::size_t{64} << 20;
constexpr int most_messages_at_once = 16; ///< taken before the engine gets to look at them
constexpr auto patience_at_the_end = std::chrono::milliseconds(500);

// Open MPI's default for TCP and MPICH's for most networks, less our header and theirs.
constexpr std::size_t usual_eager_limit = 64 * 1024 - 256;

} // namespace

MpiTransport::MpiTransport(MPI_Comm private_world)
    : world_(private_world), process_(getpid()), buffers_(most_idle_buffer_bytes) {
  PMPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
  int rank = 0;
  PMPI_Comm_rank(world_, &rank);
  PMPI_Comm_size(world_, &ranks_);
  address_ = std::to_string(rank);
}

MpiTransport::~MpiTransport() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (finalized != 0 || getpid() != process_) return;
  const auto deadline = std::chrono::steady_clock::now() + patience_at_the_end;
  while (!requests_.empty() && std::chrono::steady_clock::now() < deadline)
    end_transfers();
  // What is left waits for a peer that is gone; MPI may still use the buffers, so they are not freed.
  for (MPI_Request& request : requests_)
    PMPI_Request_free(&request);
  drop_parked();
}

std::size_t MpiTransport::eager_limit() const { return usual_eager_limit; }

Result<std::unique_ptr<Links>> MpiTransport::link(std::span<const PeerAddress> ranks, std::int32_t self,
                                                  const std::vector<bool>& members) {
  return std::unique_ptr<Links>(std::make_unique<MessageLinks>(*this, ranks, self, members));
}

Result<PeerNumber> MpiTransport::peer(const std::string& address, Use) {
  int rank = -1;
  const auto parsed = std::from_chars(address.data(), address.data() + address.size(), rank);
  if (parsed.ec != std::errc() || parsed.ptr != address.data() + address.size() || rank < 0 || rank >= ranks_)
    return Error{ErrorKind::peer, fmt::format("\"{}\" is not one of the {} ranks that MPI reaches", address, ranks_)};
  return static_cast<PeerNumber>(rank);
}

bool MpiTransport::check(int code, const char* what) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(code, text, &length);
  if (failure_.empty())
    failure_ = fmt::format("{}: {}", what, std::string_view(text, static_cast<std::size_t>(length)));
  report_failure(failure_.c_str());
  return false;
}

void MpiTransport::track(MPI_Request request, const Transfer& transfer) {
  requests_.push_back(request);
  transfers_.push_back(transfer);
  if (ended_.size() < requests_.capacity()) ended_.resize(requests_.capacity());
}

Carrier::Posted MpiTransport::post(Post& message) {
  if (message.bytes > static_cast<std::size_t>(INT_MAX) - header_room) return Posted::failed;
  if (bytes_in_flight_ != 0 && bytes_in_flight_ + message.bytes > most_bytes_in_flight) return Posted::no_room;
  const std::size_t bytes = header_room + message.bytes;
  BufferPool::Buffer* buffer = buffers_.take(bytes);
  if (buffer == nullptr) return bytes_in_flight_ == 0 ? Posted::failed : Posted::no_room;
  std::memset(buffer->bytes, 0, header_room);
  std::memcpy(buffer->bytes, &message.header, sizeof message.header);
  if (message.bytes != 0) std::memcpy(buffer->bytes + header_room, message.payload, message.bytes);

  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PMPI_Isend(buffer->bytes, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(message.peer),
                              message_tag, world_, &request);
  if (!check(code, "MPI_Isend")) {
    buffers_.put(buffer);
    return Posted::failed;
  }
  sequence_.fetch_add(1, std::memory_order_relaxed);
  bytes_in_flight_ += buffer->room;
  track(request, {Transfer::Kind::send, buffer, 0, sequence()});
  return Posted::done;
}

void MpiTransport::let_go(const Payload& payload) { buffers_.put(static_cast<BufferPool::Buffer*>(payload.handle)); }

void MpiTransport::advance() {
  if (!requests_.empty()) end_transfers();
  take_messages();
}

void MpiTransport::end_transfers() {
  int count = 0;
  const int code =
      PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, ended_.data(), MPI_STATUSES_IGNORE);
  if (!check(code, "MPI_Testsome") || count == MPI_UNDEFINED) return;
  // From the back, so that the place that is filled by the last one has been dealt with.
  std::sort(ended_.begin(), ended_.begin() + count);
  for (int which = count; which-- > 0;) {
    const auto place = static_cast<std::size_t>(ended_[static_cast<std::size_t>(which)]);
    const Transfer transfer = transfers_[place];
    requests_[place] = requests_.back();
    requests_.pop_back();
    transfers_[place] = transfers_.back();
    transfers_.pop_back();
    if (transfer.kind == Transfer::Kind::receive) {
      take_message(transfer.buffer, transfer.bytes);
    } else {
      bytes_in_flight_ -= transfer.buffer->room;
      buffers_.put(transfer.buffer);
    }
  }
}

void MpiTransport::take_messages() {
  if (stalled_ != MPI_MESSAGE_NULL && !start_receive(stalled_, stalled_bytes_)) return;
  for (int turn = 0; turn < most_messages_at_once; ++turn) {
    int come = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    const int code = PMPI_Improbe(MPI_ANY_SOURCE, message_tag, world_, &come, &message, &status);
    if (!check(code, "MPI_Improbe") || come == 0) return;
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    if (!start_receive(message, bytes)) {
      stalled_ = message;
      stalled_bytes_ = bytes;
      return;
    }
  }
}

// False: there is no memory for it now.
bool MpiTransport::start_receive(MPI_Message& message, int bytes) {
  BufferPool::Buffer* buffer = buffers_.take(static_cast<std::size_t>(bytes));
  if (buffer == nullptr) return false;
  MPI_Request request = MPI_REQUEST_NULL;
  int ended = 0;
  if (!check(PMPI_Imrecv(buffer->bytes, bytes, MPI_BYTE, &message, &request), "MPI_Imrecv") ||
      !check(PMPI_Test(&request, &ended, MPI_STATUS_IGNORE), "MPI_Test")) {
    message = MPI_MESSAGE_NULL;
    return true; // the buffer may be in use
  }
  if (ended != 0) {
    take_message(buffer, bytes);
  } else {
    track(request, {Transfer::Kind::receive, buffer, bytes, 0});
  }
  return true;
}

void MpiTransport::take_message(BufferPool::Buffer* buffer, int bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (size >= header_room) {
    WireHeader header;
    std::memcpy(&header, buffer->bytes, sizeof header);
    if (deliver(header, {buffer->bytes + header_room, size - header_room, buffer})) return;
  }
  buffers_.put(buffer);
}

void MpiTransport::flush() {
  if (gone() == sequence()) return;
  advance();
  std::uint64_t complete = sequence();
  for (const Transfer& transfer : transfers_)
    if (transfer.kind == Transfer::Kind::send) complete = std::min(complete, transfer.sequence - 1);
  gone_.store(complete, std::memory_order_release);
}

} // namespace strata::transport
