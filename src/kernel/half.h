// SPDX-License-Identifier: BSD-3-Clause
// float16 and bfloat16 to float32 and back, by integers: round to nearest, ties to even, whatever rounding mode or
// flush-to-zero mode the program has set. A NaN keeps its sign and its upper payload bits and becomes quiet, as
// the conversion instructions of x86 and Arm do it.
#pragma once

#include <bit>
#include <cstdint>

/// In front of functions that nvcc compiles for the host and for GPUs.
#ifdef __CUDACC__
#define STRATA_EVERYWHERE __host__ __device__
#else
#define STRATA_EVERYWHERE
#endif

namespace strata::kernel {

STRATA_EVERYWHERE inline float float_of_float16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = fraction != 0 ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | fraction << 13);
  }
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  if (fraction == 0) return std::bit_cast<float>(sign);
  // Subnormal: every one is a normal float32. Move the leading bit to where it is implied.
  const auto shift = static_cast<std::uint32_t>(std::countl_zero(fraction)) - 21;
  fraction = (fraction << shift) & 0x3ffu;
  return std::bit_cast<float>(sign | (113 - shift) << 23 | fraction << 13);
}

STRATA_EVERYWHERE inline std::uint16_t float16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) { // NaN
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) { // 65520 and above round to infinity
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) { // normal: 2^-14 and above; a carry into the exponent is right
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    half = (magnitude + 0xfffu + odd - 0x38000000u) >> 13;
  } else if (magnitude >= 0x33000000u) { // 2^-25 and above: multiples of 2^-24
    const std::uint32_t shift = 126 - (magnitude >> 23);
    const std::uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t odd = (fraction >> shift) & 1u;
    half = (fraction + (1u << (shift - 1)) - 1 + odd) >> shift;
  }
  return static_cast<std::uint16_t>(sign | half);
}

STRATA_EVERYWHERE inline float float_of_bfloat16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

STRATA_EVERYWHERE inline std::uint16_t bfloat16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

} // namespace strata::kernel
