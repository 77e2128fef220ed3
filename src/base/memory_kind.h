// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace strata {

/// Memory as it is to the libraries under the transports, which move what they do not touch.
enum class MemoryKind : std::uint8_t {
  host,
  cuda, ///< of a GPU, by CUDA's addresses
};

} // namespace strata
