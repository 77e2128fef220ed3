// SPDX-License-Identifier: BSD-3-Clause
// Types, operations, the values that ranks contribute, and what a right result is.
#pragma once

#include "case.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace differential {

enum class Kind { whole, real32, real64, extended, complex32, complex64, pair, derived };

struct Type {
  const char* name;
  MPI_Datatype type;
  Kind kind;
};

struct Operation {
  const char* name;
  MPI_Op operation;
};

/// Adds the first integer of each element, the way of a user; not commutative: keeps the left operand's second.
inline void add_first(void* in, void* out, int* count, MPI_Datatype* type) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(*type, &lower, &extent);
  auto* left = static_cast<char*>(in);
  auto* right = static_cast<char*>(out);
  for (int i = 0; i < *count; ++i, left += extent, right += extent) {
    int a = 0, b = 0;
    std::memcpy(&a, left, sizeof a);
    std::memcpy(&b, right, sizeof b);
    a += b;
    std::memcpy(right, &a, sizeof a);
    std::memcpy(right + 8, left + 8, sizeof a);
  }
}

class Tables {
public:
  Tables() {
    MPI_Op_create(add_first, 0, &user_);
    // Two integers with a hole between them, and room behind.
    MPI_Datatype holes = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &holes);
    MPI_Type_create_resized(holes, 0, 24, &derived_);
    MPI_Type_commit(&derived_);
    MPI_Type_free(&holes);
    types = {{"float", MPI_FLOAT, Kind::real32},
             {"double", MPI_DOUBLE, Kind::real64},
             {"long double", MPI_LONG_DOUBLE, Kind::extended},
             {"float complex", MPI_C_FLOAT_COMPLEX, Kind::complex32},
             {"double complex", MPI_C_DOUBLE_COMPLEX, Kind::complex64},
             {"int", MPI_INT, Kind::whole},
             {"unsigned", MPI_UNSIGNED, Kind::whole},
             {"short", MPI_SHORT, Kind::whole},
             {"unsigned char", MPI_UNSIGNED_CHAR, Kind::whole},
             {"int8", MPI_INT8_T, Kind::whole},
             {"uint64", MPI_UINT64_T, Kind::whole},
             {"long", MPI_LONG, Kind::whole},
             {"integer", MPI_INTEGER, Kind::whole},
             {"double and int", MPI_DOUBLE_INT, Kind::pair},
             {"two ints", MPI_2INT, Kind::pair},
             {"derived", derived_, Kind::derived}};
    operations = {{"sum", MPI_SUM},   {"product", MPI_PROD}, {"minimum", MPI_MIN},   {"maximum", MPI_MAX},
                  {"land", MPI_LAND}, {"lor", MPI_LOR},      {"lxor", MPI_LXOR},     {"band", MPI_BAND},
                  {"bor", MPI_BOR},   {"bxor", MPI_BXOR},    {"minloc", MPI_MINLOC}, {"maxloc", MPI_MAXLOC},
                  {"user", user_}};
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  ~Tables() {
    MPI_Op_free(&user_);
    MPI_Type_free(&derived_);
  }
  std::vector<Type> types;
  std::vector<Operation> operations;

private:
  MPI_Op user_ = MPI_OP_NULL;
  MPI_Datatype derived_ = MPI_DATATYPE_NULL;
};

/// Whether MPI defines the operation (by its row) on the type.
inline bool is_defined(const Type& type, int operation) {
  const bool user = operation == 12, location = operation == 10 || operation == 11;
  switch (type.kind) {
  case Kind::derived:
    return user;
  case Kind::pair:
    return location;
  case Kind::complex32:
  case Kind::complex64:
    return operation <= 1;
  case Kind::whole:
    return !user && !location && !(type.type == MPI_INTEGER && operation >= 4 && operation <= 6);
  default:
    return operation <= 3;
  }
}

/// What `rank` contributes at `place`, as a number; `part` 1 is the imaginary part.
inline double number(const Case& call, int rank, long place, int part) {
  Random random(call.salt ^ static_cast<std::uint64_t>(rank) << 48 ^ static_cast<std::uint64_t>(place) << 1 ^
                static_cast<std::uint64_t>(part));
  const std::uint64_t bits = random.next();
  if (!call.spread) return static_cast<double>(1 + bits % 2); // products of many ranks stay exact
  const double unit = static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
  // As floats of their own, so that every rank knows them exactly; sums of them fit 113 bits.
  const double value = std::ldexp(unit, static_cast<int>(bits % 24) - 12);
  return static_cast<double>(static_cast<float>(value == 0 ? 0.25 : value));
}

inline void fill(unsigned char* to, const Type& type, long extent, const Case& call, int rank) {
  for (long i = 0; i < call.count; ++i, to += extent) {
    std::memset(to, 0, static_cast<std::size_t>(extent));
    if (type.kind == Kind::real32 || type.kind == Kind::complex32)
      for (int part = 0; part < (type.kind == Kind::real32 ? 1 : 2); ++part) {
        const auto value = static_cast<float>(number(call, rank, i, part));
        std::memcpy(to + part * 4, &value, sizeof value);
      }
    else if (type.kind == Kind::real64 || type.kind == Kind::complex64)
      for (int part = 0; part < (type.kind == Kind::real64 ? 1 : 2); ++part) {
        const double value = number(call, rank, i, part);
        std::memcpy(to + part * 8, &value, sizeof value);
      }
    else if (type.kind == Kind::extended) {
      const long double value = number(call, rank, i, 0);
      std::memcpy(to, &value, 10); // the rest is padding
    } else if (type.kind == Kind::pair) {
      const double value = std::floor(number(call, rank, i, 0));
      const int whole = static_cast<int>(value);
      if (extent == 8)
        std::memcpy(to, &whole, sizeof whole);
      else
        std::memcpy(to, &value, sizeof value);
      std::memcpy(to + (extent == 8 ? 4 : 8), &rank, sizeof rank);
    } else {
      // All bits of it, but for what may overflow: Open MPI 4.1 adds narrow integers with saturation. A derived type's
      // two integers are at 0 and 8.
      std::uint64_t bits =
          Random(call.salt + static_cast<std::uint64_t>(i) * 64 + static_cast<std::uint64_t>(rank)).next();
      if (call.operation == 0) bits &= 7;
      if (call.operation == 1) bits = extent < 4 ? bits & 1 : 1 + (bits & 1);
      if (type.kind == Kind::derived) bits &= 0xFFFFFF;
#ifdef MPICH_VERSION // 4.0 compares unsigned integers as signed ones; with strata they are compared right
      if (type.name[0] == 'u') bits &= (std::uint64_t{1} << (8 * std::min<long>(extent, 8) - 1)) - 1;
#endif
      std::memcpy(to, &bits, static_cast<std::size_t>(extent < 8 ? extent : type.kind == Kind::derived ? 4 : 8));
      if (type.kind == Kind::derived) std::memcpy(to + 8, &rank, sizeof rank);
    }
  }
}

/// Whether rounding lets results differ.
inline bool is_rounded(const Type& type, const Case& call) {
  const bool floating = type.kind == Kind::real32 || type.kind == Kind::real64 || type.kind == Kind::extended ||
                        type.kind == Kind::complex32 || type.kind == Kind::complex64;
  return floating && call.spread && call.operation <= 1;
}

/// Whether a rounded result lies within (p-1) u sum|x| of the exact sum, or as many relative errors of the exact
/// product (Higham, Accuracy and Stability of Numerical Algorithms, 2002, sections 4.2 and 3.1).
inline bool is_near(double got, const Case& call, const std::vector<int>& ranks, long place, int part, double u) {
  __float128 exact = call.operation == 0 ? 0 : 1, magnitude = 0;
  for (const int rank : ranks) {
    const __float128 value = number(call, rank, place, part);
    exact = call.operation == 0 ? exact + value : exact * value;
    magnitude += value < 0 ? -value : value;
  }
  if (call.operation == 1) magnitude = exact < 0 ? -exact : exact;
  const __float128 error = got - exact, bound = magnitude * u * 1.001 * static_cast<double>(ranks.size() - 1);
  return (error < 0 ? -error : error) <= bound + 1e-300;
}

/// Places whose rounded values are out of bounds; products of complex numbers are compared with native elsewhere.
inline long out_of_bounds(const unsigned char* got, const Type& type, const Case& call, const std::vector<int>& ranks) {
  if (type.kind == Kind::extended || (call.operation == 1 && type.kind != Kind::real32 && type.kind != Kind::real64))
    return 0;
  long wrong = 0;
  const bool single = type.kind == Kind::real32 || type.kind == Kind::complex32;
  const int parts = type.kind == Kind::complex32 || type.kind == Kind::complex64 ? 2 : 1;
  for (long i = 0; i < call.count; ++i)
    for (int part = 0; part < parts; ++part) {
      double value = 0;
      if (single) {
        float small = 0;
        std::memcpy(&small, got + (i * parts + part) * 4, sizeof small);
        value = small;
      } else {
        std::memcpy(&value, got + (i * parts + part) * 8, sizeof value);
      }
      wrong += !is_near(value, call, ranks, i, part, single ? 0x1p-24 : 0x1p-53);
    }
  return wrong;
}

} // namespace differential
