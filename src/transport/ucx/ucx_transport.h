// SPDX-License-Identifier: BSD-3-Clause
// Active messages between nodes over UCP, with a context and a worker of our own.
//
// A message is one active message whose header is the WireHeader. Up to UCX's rendezvous threshold the payload comes
// with it and stays in UCX's memory until it is released; above, it is fetched: to where its channel wants it, which
// may be device memory, or into a pooled buffer. Endpoints are made when a plan first needs the peer, with peer error
// handling, so that a dead peer becomes a failed channel.
//
// A completed send may still lie in UCX's buffers, and leaves only when somebody progresses the worker. flush()
// therefore asks whether the network devices have anything left to write, and counts how far that has come. It must not
// flush endpoints: over TCP that waits for an answer of the peer's worker (UCX 1.11 and later), and the peer may have
// left the call. Nor may an endpoint be left half connected, because that counts as something to write: when a channel
// is set up, both sides greet each other, and wait for it while they are both there.
#pragma once

#include "transport/buffer_pool.h"
#include "transport/carrier.h"
#include "transport/network_cards.h"

#include <atomic>
#include <set>
#include <sys/types.h>
#include <ucp/api/ucp.h>

namespace strata::transport {

class UcxTransport final : public Transport, public Carrier {
public:
  static Result<std::unique_ptr<UcxTransport>> open(const NearCards& near);
  ~UcxTransport() override;

  const char* name() const override { return "ucx"; }
  const std::string& address() const override { return address_; }
  Result<std::unique_ptr<Links>> link(std::span<const PeerAddress> ranks, std::int32_t self,
                                      const std::vector<bool>& members) override;
  std::size_t eager_limit() const override { return eager_limit_; }
  std::string memory_kinds() const override;
  std::string network_note() const override { return network_note_; }
  std::size_t most_message_bytes() const override {
    return buffers_.most_bytes() + most_kept_bytes_.load(std::memory_order_relaxed);
  }

private:
  struct Peer {
    UcxTransport* transport = nullptr;
    PeerNumber number = 0;
    ucp_ep_h endpoint = nullptr; ///< null: it is only heard
    std::string failure;         ///< empty: none
    bool greeting = false;       ///< ours was posted
    bool greeting_sent = false;
    bool has_greeted = false;
  };
  /// A payload that is fetched by rendezvous.
  struct Fetch {
    UcxTransport* transport = nullptr;
    WireHeader header;
    void* descriptor = nullptr;
    std::size_t bytes = 0;
    BufferPool::Buffer* buffer = nullptr; ///< null: it goes to a place that its channel has offered
    void* place = nullptr;
  };

  UcxTransport();
  Status start(const NearCards& near);
  Status start_worker();
  Status make_endpoint(Peer& peer, const std::string& address);
  Status set_handler(unsigned id, ucp_am_recv_callback_t callback);
  void close(Peer& peer);
  bool close_endpoints();

  Result<PeerNumber> peer(const std::string& address, Use use) override;
  const char* peer_failure(PeerNumber peer) const override;
  void greet(PeerNumber peer) override;
  bool greeting_sent(PeerNumber peer) const override { return peers_[peer]->greeting_sent; }
  bool has_greeted(PeerNumber peer) const override { return peers_[peer]->has_greeted; }
  void abandon(PeerNumber peer) override;
  std::size_t least_straight(MemoryKind kind) const override;
  Posted post(Post& message) override;
  void let_go(const Payload& payload) override;
  void advance() override;
  void flush() override;

  void take_greeting(const std::string& address);
  ucs_status_t take_message(const WireHeader& header, void* payload, std::size_t bytes,
                            const ucp_am_recv_param_t* parameters);
  void start_fetches();
  void start_fetch(Fetch& fetch);
  void end_fetch(Fetch& fetch, ucs_status_t status);

  static ucs_status_t on_message(void* transport, const void* header, std::size_t header_bytes, void* payload,
                                 std::size_t bytes, const ucp_am_recv_param_t* parameters);
  static ucs_status_t on_greeting(void* transport, const void* header, std::size_t header_bytes, void* address,
                                  std::size_t bytes, const ucp_am_recv_param_t* parameters);
  static void on_greeting_sent(void* request, ucs_status_t status, void* peer);
  static void on_sent(void* request, ucs_status_t status, void* post);
  static void on_fetched(void* request, ucs_status_t status, std::size_t bytes, void* fetch);
  static void on_peer_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);

  pid_t process_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_, network_note_;
  std::size_t eager_limit_ = 0, least_rendezvous_ = SIZE_MAX;
  bool reaches_cuda_ = false; ///< UCX can send from the memory of GPUs and receive into it
  std::vector<std::unique_ptr<Peer>> peers_;
  std::map<std::string, PeerNumber> peer_numbers_;
  std::set<std::string> early_greetings_; ///< addresses that greeted before anything needed them
  BufferPool buffers_;
  std::size_t kept_bytes_ = 0; ///< of payloads that UCX received and waits to get back
  std::atomic<std::size_t> most_kept_bytes_{0};
  std::vector<std::unique_ptr<Fetch>> fetches_; ///< all that were ever made
  std::vector<Fetch*> idle_fetches_;
  std::vector<Fetch*> wanted_fetches_; ///< announced within ucp_worker_progress(), started after it
  void* flush_request_ = nullptr;
  std::uint64_t flush_sequence_ = 0; ///< what flush_request_ covers
  std::vector<void*> closing_;       ///< requests of endpoints that are being closed
};

} // namespace strata::transport
