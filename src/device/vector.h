// SPDX-License-Identifier: BSD-3-Clause
// A buffer of the program, in one allocation or, rarely, in several.
#pragma once

#include "device/driver.h"

#include <vector>

namespace strata::device {

class Vector {
public:
  /// Asks the driver once per allocation that the buffer lies in. Allocates nothing from the second look on.
  Status look(Driver& driver, const void* begin, std::size_t bytes);
  void forget() { pieces_.clear(); }

  /// Whether any of it is where the host cannot go.
  bool on_device() const { return device_ >= 0; }
  /// Of the first piece that is; -1 without one.
  std::int32_t device() const { return device_; }

  bool is_one_piece_on_device() const { return pieces_.size() == 1 && on_device(); }

  /// Enqueue copies of a part of it: as many as allocations hold it.
  Status copy_out(Stream& stream, std::size_t offset, std::size_t bytes, std::byte* to) const;
  Status copy_in(Stream& stream, std::size_t offset, std::size_t bytes, const std::byte* from) const;

private:
  struct Piece {
    std::byte* begin;
    std::size_t bytes;
  };
  template <typename Copy>
  Status for_each_part(std::size_t offset, std::size_t bytes, const Copy& copy) const;

  std::vector<Piece> pieces_; ///< one after the other
  std::int32_t device_ = -1;
};

} // namespace strata::device
