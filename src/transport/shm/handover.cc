// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/handover.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace strata::transport::shm {
namespace {

/// A socket's address with a name in the abstract name space: a zero, and no file (unix(7)).
struct AbstractAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;

  explicit AbstractAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    const std::size_t letters = name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + letters);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Packets, so that a nonce comes whole; and no call waits.
Descriptor new_socket() { return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// Users that a user namespace does not know all look like one (user_namespaces(7)), so nobody is known to be that one.
bool is_of_this_user(int connection) {
  constexpr uid_t overflow = 65534;
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == ::geteuid() &&
         peer.uid != overflow;
}

/// A message of one byte, for there must be some, with room for one descriptor beside it and no second, which would
/// stay open (cmsg(3)).
struct FileMessage {
  char content = 0;
  iovec part{&content, sizeof content};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};

  FileMessage() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_LEN(sizeof(int));
  }
  FileMessage(const FileMessage&) = delete;
  FileMessage& operator=(const FileMessage&) = delete;
};

bool send_file(int connection, int file) {
  FileMessage sent;
  cmsghdr* const header = CMSG_FIRSTHDR(&sent.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  return ::sendmsg(connection, &sent.message, MSG_NOSIGNAL) == sizeof sent.content;
}

Descriptor received_file(int connection) {
  FileMessage received;
  if (::recvmsg(connection, &received.message, MSG_CMSG_CLOEXEC) != sizeof received.content) return {};
  const cmsghdr* const header = CMSG_FIRSTHDR(&received.message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int)))
    return {};
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  return Descriptor(file);
}

} // namespace

std::string Handover::offer() {
  std::uint64_t random[2];
  if (::getrandom(random, sizeof random, 0) != sizeof random) return {};
  const std::string name = fmt::format("strata-{:016x}{:016x}", random[0], random[1]);
  const AbstractAddress address(name);
  listener_ = new_socket();
  if (!listener_ || ::bind(listener_.number(), address.get(), address.bytes) != 0 ||
      ::listen(listener_.number(), SOMAXCONN) != 0)
    return {};
  return name;
}

void Handover::ask(const std::string& name, std::uint64_t nonce) {
  const AbstractAddress address(name);
  Descriptor connection = new_socket();
  if (!connection || ::connect(connection.number(), address.get(), address.bytes) != 0) return;
  if (!is_of_this_user(connection.number())) return; // who listens may be anybody
  if (::send(connection.number(), &nonce, sizeof nonce, MSG_NOSIGNAL) == sizeof nonce)
    asked_[nonce] = std::move(connection);
}

void Handover::answer(int file, std::uint64_t nonce) {
  if (!listener_) return;
  for (;;) {
    Descriptor connection(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) break;
    std::uint64_t known = 0;
    if (!is_of_this_user(connection.number()) || ::recv(connection.number(), &known, sizeof known, 0) != sizeof known ||
        known != nonce)
      continue;
    if (send_file(connection.number(), file)) answered_.push_back(std::move(connection));
  }
}

bool Handover::has_answered() {
  const auto is_closed = [](const Descriptor& connection) {
    char nothing = 0;
    return ::recv(connection.number(), &nothing, sizeof nothing, MSG_PEEK | MSG_DONTWAIT) == 0;
  };
  answered_.erase(std::remove_if(answered_.begin(), answered_.end(), is_closed), answered_.end());
  return !answered_.empty();
}

Handover::Taken Handover::take(std::uint64_t nonce) {
  const auto asked = asked_.extract(nonce);
  if (asked.empty()) return {};
  Taken taken{received_file(asked.mapped().number()), {}};
  if (taken.file) taken.connection = std::move(asked.mapped());
  return taken;
}

} // namespace strata::transport::shm
