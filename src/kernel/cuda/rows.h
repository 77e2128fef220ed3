// SPDX-License-Identifier: BSD-3-Clause
// The kernels that there are: a row for each format and operation whose bits differ from those of the others. Sums,
// products, logical and bitwise operations do not ask for the sign of an integer: the unsigned one of its width serves.
#pragma once

#include "kernel/elements.h"

/// ROW(element, Format, operation, Operation)
#define STRATA_CUDA_EXTREMA(ROW, element, Format)                                                                      \
  ROW(element, Format, minimum, Minimum)                                                                               \
  ROW(element, Format, maximum, Maximum)
#define STRATA_CUDA_ARITHMETIC(ROW, element, Format)                                                                   \
  ROW(element, Format, sum, Sum)                                                                                       \
  ROW(element, Format, product, Product)                                                                               \
  STRATA_CUDA_EXTREMA(ROW, element, Format)
#define STRATA_CUDA_UNSIGNED(ROW, element, Format)                                                                     \
  STRATA_CUDA_ARITHMETIC(ROW, element, Format)                                                                         \
  ROW(element, Format, logical_and, LogicalAnd)                                                                        \
  ROW(element, Format, logical_or, LogicalOr)                                                                          \
  ROW(element, Format, logical_xor, LogicalXor)                                                                        \
  ROW(element, Format, bitwise_and, BitwiseAnd)                                                                        \
  ROW(element, Format, bitwise_or, BitwiseOr)                                                                          \
  ROW(element, Format, bitwise_xor, BitwiseXor)

#define STRATA_CUDA_KERNELS(ROW)                                                                                       \
  STRATA_CUDA_UNSIGNED(ROW, uint8, Plain<std::uint8_t>)                                                                \
  STRATA_CUDA_UNSIGNED(ROW, uint16, Plain<std::uint16_t>)                                                              \
  STRATA_CUDA_UNSIGNED(ROW, uint32, Plain<std::uint32_t>)                                                              \
  STRATA_CUDA_UNSIGNED(ROW, uint64, Plain<std::uint64_t>)                                                              \
  STRATA_CUDA_EXTREMA(ROW, int8, Plain<std::int8_t>)                                                                   \
  STRATA_CUDA_EXTREMA(ROW, int16, Plain<std::int16_t>)                                                                 \
  STRATA_CUDA_EXTREMA(ROW, int32, Plain<std::int32_t>)                                                                 \
  STRATA_CUDA_EXTREMA(ROW, int64, Plain<std::int64_t>)                                                                 \
  STRATA_CUDA_ARITHMETIC(ROW, float16, Float16)                                                                        \
  STRATA_CUDA_ARITHMETIC(ROW, bfloat16, Bfloat16)                                                                      \
  STRATA_CUDA_ARITHMETIC(ROW, float32, Plain<float>)                                                                   \
  STRATA_CUDA_ARITHMETIC(ROW, float64, Plain<double>)
