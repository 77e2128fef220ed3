// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_transport.h"

#include "base/blocked_signals.h"
#include "transport/message_channel.h"
#include "transport/ucx/ucx_context.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unistd.h>

namespace strata::transport {
namespace {

constexpr unsigned message_id = 0;
constexpr unsigned greeting_id = 1;
constexpr std::size_t most_early_greetings = std::size_t{1} << 20;
constexpr std::size_t most_idle_buffer_bytes = std::size_t{32} << 20;
constexpr const char* out_of_memory = "out of memory";
constexpr char where_it_belongs = 0; ///< its address is the handle of payloads that lie where their channel wanted them
constexpr auto patience_at_the_end = std::chrono::milliseconds(500);

/// UCX before 1.15 never ended the reception of some active messages in CUDA memory (7921 in its tracker).
bool reaches_memory_of_gpus(ucp_context_h context) {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  if (major < 1 || (major == 1 && minor < 15)) return false;
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  return ucp_context_query(context, &attributes) == UCS_OK &&
         (attributes.memory_types >> UCS_MEMORY_TYPE_CUDA & 1) != 0;
}

} // namespace

UcxTransport::UcxTransport() : process_(getpid()), buffers_(most_idle_buffer_bytes) {}

Result<std::unique_ptr<UcxTransport>> UcxTransport::open(const NearCards& near) {
  std::unique_ptr<UcxTransport> transport(new UcxTransport);
  const QuietUcx quiet;
  const BlockedSignals blocked;
  if (const Status status = transport->start(near); !status) return status.error();
  return transport;
}

Status UcxTransport::start(const NearCards& near) {
  const auto settings = read_ucx_settings();
  if (!settings) return settings.error();
  eager_limit_ = settings->eager_limit;
  least_rendezvous_ = settings->least_rendezvous;

  const std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> config(settings->config, ucp_config_release);
  auto started = start_ucx(*settings, near);
  if (!started) return started.error();
  context_ = started->context.release();
  network_note_ = std::move(started->note);
  reaches_cuda_ = reaches_memory_of_gpus(context_);
  return start_worker();
}

Status UcxTransport::start_worker() {
  // Calls are serialized by our lock, whatever the threads of the program do.
  ucp_worker_params_t parameters{};
  parameters.field_mask =
      UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS | UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT;
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  parameters.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;
  parameters.am_alignment = BufferPool::alignment;
  if (const ucs_status_t status = ucp_worker_create(context_, &parameters, &worker_); status != UCS_OK)
    return ucx_error("make a worker", status);

  if (const Status status = set_handler(message_id, on_message); !status) return status;
  if (const Status status = set_handler(greeting_id, on_greeting); !status) return status;

  // Shared memory between ranks is strata's own: only what leads over a network is announced.
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
  if (const ucs_status_t status = ucp_worker_query(worker_, &attributes); status != UCS_OK)
    return ucx_error("tell its address", status);
  address_.assign(reinterpret_cast<const char*>(attributes.address), attributes.address_length);
  ucp_worker_release_address(worker_, attributes.address);
  return ok();
}

/// By rendezvous, for which UCX registers the memory or copies it by pieces of its own; what is shorter passes through
/// the host.
std::size_t UcxTransport::least_straight(MemoryKind kind) const {
  return kind == MemoryKind::cuda && !reaches_cuda_ ? SIZE_MAX : least_rendezvous_;
}

std::string UcxTransport::memory_kinds() const {
  constexpr std::pair<ucs_memory_type_t, const char*> kinds[] = {{UCS_MEMORY_TYPE_HOST, "host"},
                                                                 {UCS_MEMORY_TYPE_CUDA, "cuda"},
                                                                 {UCS_MEMORY_TYPE_CUDA_MANAGED, "cuda managed"},
                                                                 {UCS_MEMORY_TYPE_ROCM, "rocm"}};
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (ucp_context_query(context_, &attributes) != UCS_OK) return {};
  std::string names;
  for (const auto& [kind, name] : kinds)
    if ((attributes.memory_types >> kind & 1) != 0) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

Status UcxTransport::set_handler(unsigned id, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = id;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA;
  handler.cb = callback;
  handler.arg = this;
  const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) return ucx_error("receive active messages", status);
  return ok();
}

UcxTransport::~UcxTransport() {
  // In a child of fork() everything belongs to the parent: its sockets must not be shut down from here.
  if (getpid() != process_) return;
  const QuietUcx quiet;
  const bool idle = worker_ == nullptr || close_endpoints();
  const bool fetches = idle_fetches_.size() != fetches_.size();
  // UCX 1.13 aborts when a worker is destroyed whose endpoints are still busy (with a peer that does not answer, or
  // that is gone in the midst of a long message, which UCX does not tell its receiver).
  if (!idle || fetches) return;
  for (void* request : closing_)
    ucp_request_free(request);
  if (flush_request_ != nullptr) ucp_request_free(flush_request_);
  drop_parked();
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
  for (const std::unique_ptr<Fetch>& fetch : fetches_)
    if (fetch->buffer != nullptr) buffers_.put(fetch->buffer);
}

void UcxTransport::close(Peer& peer) {
  if (peer.endpoint == nullptr) return;
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* request = ucp_ep_close_nbx(peer.endpoint, &parameters);
  if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
  peer.endpoint = nullptr;
}

// True when nothing is under way any more.
bool UcxTransport::close_endpoints() {
  const auto deadline = std::chrono::steady_clock::now() + patience_at_the_end;
  const auto patient = [&] { return std::chrono::steady_clock::now() < deadline; };
  while (gone() != sequence() && patient())
    flush();
  for (const std::unique_ptr<Peer>& peer : peers_)
    close(*peer);
  const auto under_way = [](void* request) { return ucp_request_check_status(request) == UCS_INPROGRESS; };
  while (std::any_of(closing_.begin(), closing_.end(), under_way) && patient())
    ucp_worker_progress(worker_);
  const bool flushed = flush_request_ == nullptr || !under_way(flush_request_);
  return flushed && std::none_of(closing_.begin(), closing_.end(), under_way);
}

Result<std::unique_ptr<Links>> UcxTransport::link(std::span<const PeerAddress> ranks, std::int32_t self,
                                                  const std::vector<bool>& members) {
  return std::unique_ptr<Links>(std::make_unique<MessageLinks>(*this, ranks, self, members));
}

Result<PeerNumber> UcxTransport::peer(const std::string& address, Use use) {
  const auto [place, unknown] = peer_numbers_.emplace(address, static_cast<PeerNumber>(peers_.size()));
  if (unknown) {
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->transport = this;
    peers_.back()->number = place->second;
    peers_.back()->has_greeted = early_greetings_.erase(address) != 0;
  }
  Peer& peer = *peers_[place->second];
  if (use == Use::send && peer.endpoint == nullptr && peer.failure.empty())
    if (const Status made = make_endpoint(peer, address); !made) return made.error();
  return peer.number;
}

Status UcxTransport::make_endpoint(Peer& peer, const std::string& address) {
  const QuietUcx quiet;
  const BlockedSignals blocked;
  ucp_ep_params_t parameters{};
  parameters.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler.cb = on_peer_error;
  parameters.err_handler.arg = &peer;
  const ucs_status_t status = ucp_ep_create(worker_, &parameters, &peer.endpoint);
  if (status == UCS_OK) return ok();
  peer.endpoint = nullptr;
  return ucx_error("make an endpoint", status);
}

const char* UcxTransport::peer_failure(PeerNumber peer) const {
  return peers_[peer]->failure.empty() ? nullptr : peers_[peer]->failure.c_str();
}

void UcxTransport::on_peer_error(void* argument, ucp_ep_h, ucs_status_t status) {
  Peer& peer = *static_cast<Peer*>(argument);
  if (!peer.failure.empty()) return;
  try {
    peer.failure = ucs_status_string(status);
  } catch (const std::bad_alloc&) {
    peer.failure = "it is gone"; // short enough for a string without memory of its own
  }
  peer.transport->report_failure(peer.number);
}

void UcxTransport::greet(PeerNumber number) {
  Peer& peer = *peers_[number];
  if (peer.greeting || peer.endpoint == nullptr) return;
  peer.greeting = true;
  const QuietUcx quiet;
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_AM_SEND_FLAG_EAGER; // whatever UCX_RNDV_THRESH says: it is read where it arrives
  parameters.cb.send = on_greeting_sent;
  parameters.user_data = &peer;
  sequence_.fetch_add(1, std::memory_order_relaxed);
  void* request =
      ucp_am_send_nbx(peer.endpoint, greeting_id, nullptr, 0, address_.data(), address_.size(), &parameters);
  peer.greeting_sent = request == nullptr;
  if (UCS_PTR_IS_ERR(request)) on_peer_error(&peer, peer.endpoint, UCS_PTR_STATUS(request));
}

void UcxTransport::on_greeting_sent(void* request, ucs_status_t status, void* peer) {
  static_cast<Peer*>(peer)->greeting_sent = status == UCS_OK;
  ucp_request_free(request);
}

ucs_status_t UcxTransport::on_greeting(void* argument, const void*, std::size_t, void* bytes, std::size_t size,
                                       const ucp_am_recv_param_t* parameters) {
  if ((parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK; // not ours: those come at once
  try {
    static_cast<UcxTransport*>(argument)->take_greeting(std::string(static_cast<const char*>(bytes), size));
  } catch (const std::bad_alloc&) { // it is not heard of, as if it were out of reach
  }
  return UCS_OK;
}

void UcxTransport::take_greeting(const std::string& address) {
  if (const auto known = peer_numbers_.find(address); known != peer_numbers_.end()) {
    peers_[known->second]->has_greeted = true;
  } else if (early_greetings_.size() < most_early_greetings) {
    early_greetings_.insert(address);
  }
}

void UcxTransport::abandon(PeerNumber number) {
  Peer& peer = *peers_[number];
  const QuietUcx quiet;
  if (peer.failure.empty()) peer.failure = "it did not answer over UCX";
  close(peer);
  report_failure(number);
}

Carrier::Posted UcxTransport::post(Post& message) {
  Peer& peer = *peers_[message.peer];
  if (!peer.failure.empty() || peer.endpoint == nullptr) return Posted::failed;
  const QuietUcx quiet;
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.cb.send = on_sent;
  parameters.user_data = &message;
  if (message.straight) { // short enough for UCX to copy it, it would not come straight
    parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = UCP_AM_SEND_FLAG_RNDV;
  }
  sequence_.fetch_add(1, std::memory_order_relaxed);
  void* request = ucp_am_send_nbx(peer.endpoint, message_id, &message.header, sizeof message.header, message.payload,
                                  message.bytes, &parameters);
  if (request == nullptr) return Posted::done;
  return UCS_PTR_IS_ERR(request) ? Posted::failed : Posted::under_way;
}

void UcxTransport::on_sent(void* request, ucs_status_t status, void* post) {
  completed(*static_cast<Post*>(post), status == UCS_OK ? nullptr : ucs_status_string(status));
  ucp_request_free(request);
}

ucs_status_t UcxTransport::on_message(void* argument, const void* header_bytes, std::size_t header_size, void* payload,
                                      std::size_t bytes, const ucp_am_recv_param_t* parameters) {
  WireHeader header;
  if (header_size != sizeof header) return UCS_OK;
  std::memcpy(&header, header_bytes, sizeof header); // UCX does not align it
  UcxTransport& transport = *static_cast<UcxTransport*>(argument);
  try {
    return transport.take_message(header, payload, bytes, parameters);
  } catch (const std::bad_alloc&) { // not through UCX
    transport.lost(header, out_of_memory);
    return UCS_OK;
  }
}

// Runs within ucp_worker_progress(). Returning UCS_INPROGRESS keeps the payload, or the description of one that waits
// at the sender; UCS_OK gives it back.
ucs_status_t UcxTransport::take_message(const WireHeader& header, void* payload, std::size_t bytes,
                                        const ucp_am_recv_param_t* parameters) {
  if ((parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
    struct Kept {
      ~Kept() {
        if (!stays) all -= bytes;
      }
      std::size_t &all, bytes;
      bool stays = false; // where deliver() finds no memory, too
    } kept{kept_bytes_, bytes};
    kept_bytes_ += bytes; // first: who waits for it may let it go within deliver()
    kept.stays = deliver(header, {payload, bytes, nullptr});
    if (kept.stays && kept_bytes_ > most_kept_bytes_.load(std::memory_order_relaxed))
      most_kept_bytes_.store(kept_bytes_, std::memory_order_relaxed);
    return kept.stays ? UCS_INPROGRESS : UCS_OK;
  }

  if (expected(header, bytes) == Expected::refused) return UCS_OK;
  if (idle_fetches_.empty()) {
    idle_fetches_.reserve(fetches_.size() + 1); // so that one that ends finds room
    fetches_.push_back(std::make_unique<Fetch>());
    idle_fetches_.push_back(fetches_.back().get());
  }
  Fetch& fetch = *idle_fetches_.back();
  idle_fetches_.pop_back();
  fetch = {this, header, payload, bytes, nullptr, nullptr};
  wanted_fetches_.push_back(&fetch);
  return UCS_INPROGRESS;
}

void UcxTransport::start_fetches() {
  // A fetch may end at once and bring nothing new to this list: only ucp_worker_progress() adds to it.
  for (Fetch* fetch : wanted_fetches_)
    start_fetch(*fetch);
  wanted_fetches_.clear();
}

void UcxTransport::start_fetch(Fetch& fetch) {
  fetch.place = claim(fetch.header);
  if (fetch.place == nullptr) {
    fetch.buffer = buffers_.take(fetch.bytes);
    if (fetch.buffer == nullptr) {
      ucp_am_data_release(worker_, fetch.descriptor);
      return end_fetch(fetch, UCS_ERR_NO_MEMORY);
    }
    fetch.place = fetch.buffer->bytes;
  }
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.cb.recv_am = on_fetched;
  parameters.user_data = &fetch;
  void* request = ucp_am_recv_data_nbx(worker_, fetch.descriptor, fetch.place, fetch.bytes, &parameters);
  if (!UCS_PTR_IS_PTR(request)) end_fetch(fetch, UCS_PTR_STATUS(request));
}

void UcxTransport::on_fetched(void* request, ucs_status_t status, std::size_t, void* argument) {
  Fetch& fetch = *static_cast<Fetch*>(argument);
  ucp_request_free(request);
  fetch.transport->end_fetch(fetch, status);
}

void UcxTransport::end_fetch(Fetch& fetch, ucs_status_t status) {
  const bool was_offered = fetch.place != nullptr && fetch.buffer == nullptr;
  void* const handle = was_offered ? const_cast<char*>(&where_it_belongs) : static_cast<void*>(fetch.buffer);
  const Payload payload{fetch.place, fetch.bytes, handle};
  note_answer(fetch.header); // UCX has told the sender that its payload was fetched
  if (status != UCS_OK) lost(fetch.header, ucs_status_string(status));
  if (was_offered) fetched(fetch.header);
  bool taken = false;
  try {
    taken = handle != nullptr && status == UCS_OK && deliver(fetch.header, payload);
  } catch (const std::bad_alloc&) { // not through UCX
    lost(fetch.header, out_of_memory);
  }
  if (fetch.buffer != nullptr && !taken) buffers_.put(fetch.buffer);
  fetch.buffer = nullptr;
  idle_fetches_.push_back(&fetch);
}

void UcxTransport::let_go(const Payload& payload) {
  if (payload.handle == &where_it_belongs) return;
  if (payload.handle != nullptr) return buffers_.put(static_cast<BufferPool::Buffer*>(payload.handle));
  kept_bytes_ -= payload.size;
  ucp_am_data_release(worker_, const_cast<void*>(payload.bytes));
}

void UcxTransport::advance() {
  const QuietUcx quiet;
  ucp_worker_progress(worker_);
  if (!wanted_fetches_.empty()) start_fetches();
}

void UcxTransport::flush() {
  if (gone() == sequence()) return;
  const QuietUcx quiet;
  if (flush_request_ == nullptr) {
    flush_sequence_ = sequence();
    const ucp_request_param_t parameters{};
    flush_request_ = ucp_worker_flush_nbx(worker_, &parameters);
  }
  if (UCS_PTR_IS_PTR(flush_request_)) {
    advance();
    if (ucp_request_check_status(flush_request_) == UCS_INPROGRESS) return;
    ucp_request_free(flush_request_);
  } // otherwise it is done, or failed because a peer is gone, and with it what was to reach it
  flush_request_ = nullptr;
  gone_.store(flush_sequence_, std::memory_order_release);
}

} // namespace strata::transport
