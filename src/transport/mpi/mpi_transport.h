// SPDX-License-Identifier: BSD-3-Clause
// Messages between nodes over MPI point-to-point on a communicator of strata's own: always there, and the reference
// for the other transports.
//
// A message is one MPI_BYTE message: the WireHeader, padded to 64 bytes so that the payload is aligned, then the
// payload. It is packed into a pooled buffer, so the caller's memory is free at once. The receiver asks with Improbe
// and receives into a pooled buffer: no receive is posted before something has come, so that nothing has to be
// cancelled at the end, an idle transport costs the MPI library nothing, and any size may come.
//
// MPI gives no way to ask whether a completed send has left the process; flushed() means that all sends have completed,
// which is what the MPI library's own collectives are content with. (Open MPI completes a send over TCP when the socket
// has taken it. MPICH may buffer small ones and needs to be called once more.)
//
// MPI functions are called by their PMPI_ names, behind any profiling tool.
#pragma once

#include "transport/buffer_pool.h"
#include "transport/carrier.h"

#include <mpi.h>
#include <sys/types.h>

namespace strata::transport {

class MpiTransport final : public Transport, public Carrier {
public:
  /// `private_world` is used by nothing else, and stays the caller's, who frees it after this object.
  explicit MpiTransport(MPI_Comm private_world);
  ~MpiTransport() override;

  const char* name() const override { return "mpi"; }
  const std::string& address() const override { return address_; }
  std::size_t most_message_bytes() const override { return buffers_.most_bytes(); }
  Result<std::unique_ptr<Links>> link(std::span<const PeerAddress> ranks, std::int32_t self,
                                      const std::vector<bool>& members) override;
  std::size_t eager_limit() const override;

private:
  struct Transfer {
    enum class Kind : std::uint8_t { send, receive } kind;
    BufferPool::Buffer* buffer;
    int bytes;              ///< receive: of the whole message
    std::uint64_t sequence; ///< send: its number
  };

  Result<PeerNumber> peer(const std::string& address, Use use) override;
  const char* peer_failure(PeerNumber) const override { return failure_.empty() ? nullptr : failure_.c_str(); }
  void greet(PeerNumber) override {}
  bool greeting_sent(PeerNumber) const override { return true; }
  bool has_greeted(PeerNumber) const override { return true; }
  void abandon(PeerNumber) override {}
  Posted post(Post& message) override;
  void let_go(const Payload& payload) override;
  void advance() override;
  void flush() override;

  void end_transfers();
  void take_messages();
  bool start_receive(MPI_Message& message, int bytes);
  void take_message(BufferPool::Buffer* buffer, int bytes);
  void track(MPI_Request request, const Transfer& transfer);
  bool check(int code, const char* what);

  MPI_Comm world_;
  int ranks_ = 0;
  pid_t process_;
  std::string address_;
  std::string failure_; ///< of the MPI library; empty: none
  BufferPool buffers_;
  std::size_t bytes_in_flight_ = 0; ///< room of the buffers of sends
  std::vector<MPI_Request> requests_;
  std::vector<Transfer> transfers_;        ///< of the request at the same place
  std::vector<int> ended_;                 ///< room for as many
  MPI_Message stalled_ = MPI_MESSAGE_NULL; ///< matched, but there was no memory for it
  int stalled_bytes_ = 0;
};

} // namespace strata::transport
