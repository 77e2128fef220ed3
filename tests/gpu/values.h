// SPDX-License-Identifier: BSD-3-Clause
// Random elements, for results that are compared bit for bit: sums and products of floats round, and those of 8 ranks
// stay finite even in float16. The same on every machine.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum form { whole_form, truth_form, float16_form, bfloat16_form, float32_form, float64_form };

// One step of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
static uint64_t mixed(uint64_t number) {
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

// Of either sign, from 0.5 to 2, with all bits of its fraction.
static uint64_t float_bits(int exponent_bits, int fraction_bits, uint64_t random) {
  const uint64_t bias = ((uint64_t)1 << (exponent_bits - 1)) - 1, fraction = ((uint64_t)1 << fraction_bits) - 1;
  const uint64_t exponent = bias - (random >> 62 & 1);
  return (random >> 63) << (exponent_bits + fraction_bits) | exponent << fraction_bits | (random & fraction);
}

static uint64_t element_bits(enum form form, uint64_t random) {
  switch (form) {
  case truth_form:
    return random >> 63;
  case float16_form:
    return float_bits(5, 10, random);
  case bfloat16_form:
    return float_bits(8, 7, random);
  case float32_form:
    return float_bits(8, 23, random);
  case float64_form:
    return float_bits(11, 52, random);
  default: // zeros matter to the logical operations
    return random % 3 == 0 ? 0 : random >> 1;
  }
}

// `bytes` of one element: 1, 2, 4 or 8.
static void fill(void* memory, size_t count, enum form form, size_t bytes, uint64_t seed) {
  unsigned char* at = memory;
  const uint64_t begin = mixed(seed);
  for (size_t i = 0; i < count; ++i, at += bytes) {
    const uint64_t bits = element_bits(form, mixed(begin + i));
    memcpy(at, &bits, bytes); // the low bytes, on a little-endian processor
  }
}

// The first place where they differ; `bytes` where they do not.
static size_t first_difference(const unsigned char* one, const unsigned char* other, size_t bytes) {
  size_t i = 0;
  if (memcmp(one, other, bytes) == 0) return bytes;
  while (one[i] == other[i])
    ++i;
  return i;
}
