// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/segment.h"

#include "base/address_space.h"
#include "base/rounding.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>

namespace strata::transport::shm {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::uint32_t layout_version = 4;
constexpr char file_name[] = "/memfd:strata"; ///< as /proc shows it

/// The address of a segment, sent as bytes between processes of the same build.
struct Address {
  std::uint64_t nonce;
  std::uint64_t bytes;
  std::uint64_t heap_base; // Backing::heap only, valid in the process `pid`
  std::int32_t pid;
  std::int32_t descriptor;
};

std::size_t whole_pages(std::size_t bytes) { return rounded_up(bytes, page_bytes); }

std::string reason() { return std::strerror(errno); } // NOLINT: the message is copied at once

int fallocate_again(int descriptor, int mode, std::uint64_t offset, std::size_t bytes) {
  int status = 0;
  do
    status = ::fallocate(descriptor, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (status != 0 && errno == EINTR);
  return status;
}

void punch(int descriptor, std::uint64_t offset, std::size_t bytes) {
  (void)fallocate_again(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
}

/// All or nothing; errno says why not. In pieces: a signal (a profiler's timer) ends a call without anything done, and
/// a long one might never come through between two of them.
bool allocate(int descriptor, std::uint64_t offset, std::size_t bytes) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  for (std::size_t done = 0; done < bytes; done += piece_bytes) {
    if (fallocate_again(descriptor, 0, offset + done, std::min(piece_bytes, bytes - done)) == 0) continue;
    const int why = errno;
    if (done > 0) punch(descriptor, offset, done);
    errno = why;
    return false;
  }
  return true;
}

Result<Address> address_from(const std::string& text) {
  Address address{};
  if (text.size() != sizeof address) return Error{ErrorKind::peer, "a segment's address has the wrong length"};
  std::memcpy(&address, text.data(), sizeof address);
  return address;
}

/// A number may name any file in another pid namespace: look before mapping, and never map what is too short, or could
/// become so (F_SEAL_SHRINK): to touch what is behind the end kills a process.
Result<Mapping> mapped_file(const Descriptor& file, const Address& address, const std::string& name) {
  std::uint64_t nonce = 0;
  const bool ours = ::pread(file.number(), &nonce, sizeof nonce, 0) == sizeof nonce && nonce == address.nonce &&
                    ::lseek(file.number(), 0, SEEK_END) >= static_cast<off_t>(address.bytes) &&
                    (::fcntl(file.number(), F_GET_SEALS) & F_SEAL_SHRINK) != 0;
  if (!ours)
    return Error{ErrorKind::unsupported,
                 fmt::format("cannot map {}: another file is there, so the process is on another machine or in another "
                             "container",
                             name)};
  return Mapping::of(file.number(), address.bytes, name);
}

/// A kernel or a sandbox may not let a process have such files at all; or there is no room.
ErrorKind kind_of_refusal() {
  return errno == ENOSYS || errno == EPERM || errno == EACCES ? ErrorKind::unsupported : ErrorKind::resource;
}

} // namespace

Result<Mapping> Mapping::of(int file, std::size_t bytes, const std::string& name) {
  if (const Status may = may_map(bytes, name); !may) return may.error();
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED)
    return Error{errno == ENOMEM ? ErrorKind::resource : ErrorKind::unsupported,
                 fmt::format("cannot map {} of {} bytes: {}", name, bytes, reason())};
  // Or a core dump would hold, and fill with pages, the segments of all neighbours.
  (void)::madvise(mapped, bytes, MADV_DONTDUMP);
  Mapping mapping;
  mapping.base_ = static_cast<std::byte*>(mapped);
  mapping.bytes_ = bytes;
  return mapping;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

// The process file system, because the id was found there: it may be another pid namespace's than this process'. A
// program may have left it (chroot): then nothing is known.
bool View::has_owner() const {
  if (header().has_left.load(std::memory_order_acquire) != 0) return true;
  if (connection_) {
    char nothing = 0; // is ever sent after the file
    const ssize_t bytes = ::recv(connection_.number(), &nothing, sizeof nothing, MSG_PEEK | MSG_DONTWAIT);
    if (bytes > 0 || (bytes < 0 && errno != ECONNRESET)) return true;
    return header().has_left.load(std::memory_order_acquire) != 0; // it may have left since
  }
  if (owner_ == 0) return true;
  const int file = ::open(fmt::format("/proc/{}/stat", owner_).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno != ENOENT || ::access("/proc/self/stat", F_OK) != 0;
  char text[512] = {};
  const ssize_t bytes = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (bytes <= 0) return errno != ESRCH;
  // "pid (name) state ...", and the name may hold anything (proc(5)).
  const char* const state = std::strrchr(text, ')');
  if (state == nullptr || (state[2] != 'Z' && state[2] != 'X')) return true;
  // The state is that of the first thread; others may go on without it (pthread_exit() in main).
  int threads = 0;
  constexpr const char* fields = ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d";
  return std::sscanf(state, fields, &threads) == 1 && threads > 1; // NOLINT: the kernel's number
}

Result<std::unique_ptr<Segment>> Segment::create(Backing backing, std::size_t most_bytes) {
  std::unique_ptr<Segment> segment(new Segment);
  segment->backing_ = backing;
  const std::size_t bytes = whole_pages(most_bytes);
  Address address{};
  address.bytes = bytes;
  address.pid = ::getpid();
  if (::getrandom(&address.nonce, sizeof address.nonce, 0) != sizeof address.nonce)
    return Error{ErrorKind::resource, fmt::format("no random bytes for a segment's nonce: {}", reason())};

  std::byte* base = nullptr;
  if (backing == Backing::heap) {
    segment->heap_.reset(new (std::nothrow) std::byte[bytes + page_bytes]);
    if (!segment->heap_) return Error{ErrorKind::resource, fmt::format("cannot allocate a segment of {} bytes", bytes)};
    void* start = segment->heap_.get();
    std::size_t room = bytes + page_bytes;
    base = static_cast<std::byte*>(std::align(page_bytes, bytes, start, room));
    address.heap_base = reinterpret_cast<std::uint64_t>(base);
    segment->view_ = std::make_unique<View>(base, bytes);
  } else {
    segment->descriptor_ = ::memfd_create("strata", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (segment->descriptor_ < 0) return Error{kind_of_refusal(), fmt::format("memfd_create: {}", reason())};
    (void)::fchmod(segment->descriptor_, S_IRUSR | S_IWUSR); // it begins with all rights for all
    if (::ftruncate(segment->descriptor_, static_cast<off_t>(bytes)) != 0)
      return Error{ErrorKind::resource, fmt::format("cannot reserve a segment of {} bytes: {}", bytes, reason())};
    if (::fcntl(segment->descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
      return Error{ErrorKind::resource, fmt::format("cannot seal a segment: {}", reason())};
    if (!allocate(segment->descriptor_, 0, page_bytes))
      return Error{ErrorKind::resource, fmt::format("cannot allocate a segment's first page: {}", reason())};
    auto mapping = Mapping::of(segment->descriptor_, bytes, "a segment");
    if (!mapping) return mapping.error();
    base = mapping->base();
    segment->view_ = std::make_unique<View>(std::move(*mapping));
    address.descriptor = segment->descriptor_;
  }
  auto* header = new (base) SegmentHeader;
  header->nonce = address.nonce;
  header->version = layout_version;
  header->has_left.store(0, std::memory_order_relaxed);
  segment->address_.assign(reinterpret_cast<const char*>(&address), sizeof address);
  segment->free_[page_bytes] = bytes - page_bytes;
  return segment;
}

Segment::~Segment() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::uint64_t> Segment::lease(std::size_t bytes) {
  bytes = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    if (hole->second < bytes) continue;
    const std::uint64_t offset = hole->first;
    if (descriptor_ >= 0 && !allocate(descriptor_, offset, bytes))
      return Error{ErrorKind::resource, fmt::format("cannot allocate {} bytes of shared memory: {}", bytes, reason())};
    if (backing_ == Backing::heap) std::memset(view_->at(offset), 0, bytes);
    leases_.emplace(offset, bytes);
    auto rest = free_.extract(hole);
    rest.key() += bytes;
    rest.mapped() -= bytes;
    if (rest.mapped() > 0) free_.insert(std::move(rest));
    leased_ += bytes;
    most_leased_ = std::max(most_leased_, leased_);
    return offset;
  }
  return Error{ErrorKind::resource, fmt::format("no {} bytes left in a segment of {} (STRATA_SEGMENT), {} are in use",
                                                bytes, view_->bytes(), leased_)};
}

void Segment::give_back(std::uint64_t offset, std::size_t bytes) {
  bytes = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  leased_ -= bytes;
  if (descriptor_ >= 0 && !keeps_pages_) // a hole reads as zero again, and its pages are free
    punch(descriptor_, offset, bytes);
  auto hole = free_.insert(leases_.extract(offset)).position; // takes no memory
  if (auto next = std::next(hole); next != free_.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    free_.erase(next);
  }
  if (hole != free_.begin()) {
    auto before = std::prev(hole);
    if (before->first + before->second == hole->first) {
      before->second += hole->second;
      free_.erase(hole);
    }
  }
}

Result<std::shared_ptr<View>> Segment::map(const std::string& text) {
  const auto address = address_from(text);
  if (!address) return address.error();
  if (address->heap_base != 0) {
    if (address->pid != ::getpid()) return Error{ErrorKind::unsupported, "a segment on the heap of another process"};
    return std::make_shared<View>(reinterpret_cast<std::byte*>(address->heap_base), address->bytes);
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", address->pid, address->descriptor);
  // In another pid namespace or on another machine that may be anything, a device that acts when it is opened as well.
  char target[32] = {};
  if (::readlink(path.c_str(), target, sizeof target - 1) > 0 &&
      std::strncmp(target, file_name, sizeof file_name - 1) != 0)
    return Error{ErrorKind::unsupported, fmt::format("{} is another file", path)};
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return Error{ErrorKind::unsupported, fmt::format("cannot open {}: {}", path, reason())};
  auto mapping = mapped_file(file, *address, path);
  if (!mapping) return mapping.error();
  return std::make_shared<View>(std::move(*mapping), address->pid);
}

Result<std::shared_ptr<View>> Segment::map_handed(const std::string& text, const Descriptor& file,
                                                  Descriptor connection) {
  const auto address = address_from(text);
  if (!address) return address.error();
  if (!file) return Error{ErrorKind::unsupported, "the owner of a segment did not hand it over"};
  auto mapping = mapped_file(file, *address, "a segment that was handed over");
  if (!mapping) return mapping.error();
  return std::make_shared<View>(std::move(*mapping), 0, std::move(connection));
}

std::uint64_t Segment::nonce_of(const std::string& text) {
  const auto address = address_from(text);
  return address ? address->nonce : 0;
}

} // namespace strata::transport::shm
