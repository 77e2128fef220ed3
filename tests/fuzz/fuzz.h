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

/// What a file of this text holds, after this was seen: what is taken is written in a form that is taken again and
/// means the same; what is not is refused with the place and a reason, in one line.
template <class Parse>
auto read_as_file(const std::string& text, Parse parse) {
  auto held = parse(text, "file");
  if (!held) {
    require(held.error().message.starts_with("file:"));
    require(held.error().message.find('\n') == std::string::npos);
  } else {
    const std::string written = to_text(*held);
    const auto again = parse(written, "written");
    require(again && *again == *held && to_text(*again) == written);
  }
  return held;
}

} // namespace strata::fuzz
