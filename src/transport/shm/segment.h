// SPDX-License-Identifier: BSD-3-Clause
// The one segment of shared memory that a process owns, and views of its peers' segments.
//
// A segment is a memfd that reserves its whole size at once, sparse; pages are really allocated (fallocate) when a
// block is leased, so that a full machine gives an error and never SIGBUS. Peers reopen it through
// /proc/<pid>/fd/<fd>, or are handed the file (handover.h), and accept it only if they read the nonce that its owner
// announced: equal host names or process ids prove nothing when pid namespaces differ. Nothing has a name, so nothing
// stays behind.
#pragma once

#include "base/activity.h"
#include "base/descriptor.h"
#include "base/result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace strata::transport::shm {

inline constexpr std::size_t line_bytes = 64;

/// What stands at the begin of every segment.
struct SegmentHeader {
  std::uint64_t nonce;
  std::uint32_t version;
  /// 1 when the owner has left in good order: that it has ended then is no trouble.
  alignas(line_bytes) std::atomic<std::int32_t> has_left;
  alignas(line_bytes) Activity activity;
};

enum class Backing : std::uint8_t {
  memfd, ///< shared with other processes
  heap,  ///< shared among threads of this process that play ranks (transport loop)
};

/// Pages of a file, unmapped in the end.
class Mapping {
public:
  Mapping() = default;
  /// Read and written, shared; ErrorKind::resource where there is no room for them.
  static Result<Mapping> of(int file, std::size_t bytes, const std::string& name);
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }

private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A peer's segment as mapped here; also this process' own.
class View {
public:
  /// On the heap of this process, which keeps it.
  View(std::byte* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  /// `owner`: its process id; 0: this process, or one that is known by its connection only.
  explicit View(Mapping mapping, std::int32_t owner = 0, Descriptor connection = {})
      : base_(mapping.base()), bytes_(mapping.bytes()), mapping_(std::move(mapping)), owner_(owner),
        connection_(std::move(connection)) {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(base_); }
  /// `offset` + `bytes` must lie inside: sizes from a peer are checked by contains() first.
  std::byte* at(std::uint64_t offset) const { return base_ + offset; }
  bool contains(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= bytes_ && bytes <= bytes_ - offset;
  }
  std::size_t bytes() const { return bytes_; }
  /// Whether the process that owns the segment still runs, or has left in good order.
  bool has_owner() const;

private:
  std::byte* base_;
  std::size_t bytes_;
  Mapping mapping_;
  std::int32_t owner_ = 0;
  Descriptor connection_; // to the owner
};

class Segment {
public:
  /// `most_bytes`: address space to reserve, and the most that can be leased.
  static Result<std::unique_ptr<Segment>> create(Backing backing, std::size_t most_bytes);
  ~Segment();

  const View& view() const { return *view_; }
  /// What a peer needs for map().
  const std::string& address() const { return address_; }

  /// Leases zeroed memory, aligned to a page. Thread-safe.
  Result<std::uint64_t> lease(std::size_t bytes);
  /// Gives a lease back, with the same size; its pages return to the system.
  void give_back(std::uint64_t offset, std::size_t bytes);
  std::size_t leased_bytes() const {
    const std::lock_guard lock(mutex_);
    return leased_;
  }
  std::size_t most_leased_bytes() const {
    const std::lock_guard lock(mutex_);
    return most_leased_;
  }
  /// From now on pages stay as they are when a lease is given back: the owner is about to end, but peers that have
  /// mapped the segment may still read it.
  void keep_pages() { keeps_pages_ = true; }

  /// Maps the segment behind `address`; the error says why it cannot be the same machine's, or what failed.
  static Result<std::shared_ptr<View>> map(const std::string& address);
  /// Maps the segment behind `address` in the file that its owner has sent over `connection`.
  static Result<std::shared_ptr<View>> map_handed(const std::string& address, const Descriptor& file,
                                                  Descriptor connection);
  /// Of a segment, by its address; 0 if it is none.
  static std::uint64_t nonce_of(const std::string& address);
  /// The file, for who is to be handed it; -1: this segment has none.
  int file() const { return descriptor_; }

private:
  Segment() = default;

  Backing backing_ = Backing::memfd;
  int descriptor_ = -1;
  std::unique_ptr<std::byte[]> heap_;
  std::unique_ptr<View> view_;
  std::string address_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> free_, leases_; // offset to bytes
  std::size_t leased_ = 0, most_leased_ = 0;             // bytes
  bool keeps_pages_ = false;
};

} // namespace strata::transport::shm
