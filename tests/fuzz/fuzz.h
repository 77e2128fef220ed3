// SPDX-License-Identifier: BSD-3-Clause
// What the fuzz targets share: each is one function that libFuzzer calls with bytes, and that aborts when it finds
// something wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace strata::fuzz {

/// Not assert(): it must hold in every build.
inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

} // namespace strata::fuzz
