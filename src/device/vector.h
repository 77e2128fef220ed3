// SPDX-License-Identifier: BSD-3-Clause
// A buffer of the program, in one allocation or, rarely, in several.
#pragma once

#include "device/driver.h"

#include <memory>
#include <span>
#include <vector>

namespace strata::device {

/// A stream, and the device that it is of.
struct StreamOn {
  std::int32_t device = -1;
  Stream* stream = nullptr;
};

class Vector {
public:
  /// Asks the driver once per allocation that the buffer lies in. Allocates nothing from the second look on.
  Status look(Driver& driver, const void* begin, std::size_t bytes);
  void forget() {
    pieces_.clear();
    devices_.clear();
  }

  /// Whether any of it is where the host cannot go.
  bool on_device() const { return !devices_.empty(); }
  /// Of the first piece that is; -1 without one.
  std::int32_t device() const { return on_device() ? devices_.front() : -1; }
  /// Each device that a piece is on, once.
  const std::vector<std::int32_t>& devices() const { return devices_; }

  bool is_one_piece_on_device() const { return pieces_.size() == 1 && on_device(); }
  /// Whether streams of this device reach all of it. They do not where it is in memory of another device that came from
  /// a pool or a virtual mapping: such memory is for the devices that the program gave access to it.
  bool is_in_reach_of(std::int32_t device) const;

  /// Enqueue copies of a part of it, as many as allocations hold it: each into the stream of the piece's device, and of
  /// what is on none of these devices, into the first stream.
  Status copy_out(std::span<const StreamOn> streams, std::size_t offset, std::size_t bytes, std::byte* to) const;
  Status copy_in(std::span<const StreamOn> streams, std::size_t offset, std::size_t bytes, const std::byte* from) const;

private:
  struct Piece {
    std::byte* begin;
    std::size_t bytes;
    std::int32_t device; ///< -1: the host reaches it
    bool own_only;       ///< only that device's streams do
  };
  template <typename Copy>
  Status for_each_part(std::size_t offset, std::size_t bytes, const Copy& copy) const;

  std::vector<Piece> pieces_; ///< one after the other
  std::vector<std::int32_t> devices_;
};

/// A stream on each device that a vector is on, for copies between it and the host's memory that are waited for.
class VectorStreams {
public:
  /// Of a vector on no device, there is nothing to copy by.
  static Result<VectorStreams> make(Driver& driver, const Vector& vector);
  Status fetch(const Vector& vector, std::size_t offset, std::size_t bytes, std::byte* to);
  Status deliver(const Vector& vector, std::size_t offset, std::size_t bytes, const std::byte* from);

private:
  /// The first failure, of what was put into the streams or of waiting for it.
  Status done(Status enqueued);
  std::vector<std::unique_ptr<Stream>> owned_;
  std::vector<StreamOn> streams_;
};

} // namespace strata::device
