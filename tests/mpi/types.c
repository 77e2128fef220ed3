// SPDX-License-Identifier: BSD-3-Clause
// Every predefined type with every predefined operation: prints from rank 0 a line for each with the result or the
// class of the error, so that two runs can be compared. Values are such that no order of operations matters.
//
//     types [special|halves]
//
// special: infinities, NaN, signed zeros, subnormal numbers and overflow instead. halves: numbers of 16 bits of the
// types that MPICH alone has and cannot add, with the known results instead of its.
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { whole, real32, real64, extended, complex32, complex64, complex_extended, half, pair, text, boolean };

struct named_type {
  const char* name;
  MPI_Datatype type;
  enum kind kind;
};
struct named_operation {
  const char* name;
  MPI_Op operation;
};

#define ROW(type, kind)                                                                                                \
  { #type, type, kind }
static int rank, ranks;
enum { count = 37, most_bytes = 64 };

static void put(unsigned char* out, enum kind kind, int bytes, int value, int place) {
  const float single = (float)value;
  const double number = value;
  const long double extended_number = value;
  memset(out, 0, (size_t)bytes);
  switch (kind) {
  case whole:
  case text:
    out[0] = (unsigned char)value; // little-endian
    break;
  case boolean: // anything but 0 and 1 is no value of its type
    out[0] = (unsigned char)(value - 1);
    break;
  case half: {
    static const uint16_t halves[4] = {0, 0x3C00, 0x4000, 0x4200}; // 0 to 3
    memcpy(out, &halves[value & 3], 2);
    break;
  }
  case real32:
    memcpy(out, &single, 4);
    break;
  case real64:
    memcpy(out, &number, 8);
    break;
  case extended:
    memcpy(out, &extended_number, 10);
    break;
  case complex32:
    memcpy(out, &single, 4);
    break;
  case complex64:
    memcpy(out, &number, 8);
    break;
  case complex_extended:
    memcpy(out, &extended_number, 10);
    break;
  case pair: // the value's type differs, so its first bytes are a small whole number of any type; the place is last
    if (bytes == 8)
      memcpy(out, &value, 4); // 2INT; of FLOAT_INT the same bits order alike
    else
      out[0] = (unsigned char)value;
    if (bytes >= 8) memcpy(out + (bytes == 8 ? 4 : bytes == 12 ? 8 : bytes - 8), &place, sizeof place);
    break;
  }
}

// MPICH 4.0 aborts on some, instead of an error or a result: logical operations of anything but integers, and numbers
// of 16 bits where its compiler lacked them.
static int survivable(enum kind kind, MPI_Op operation) {
#ifdef MPICH_VERSION
  if (kind == half) return 0;
  return kind == whole || kind == boolean || kind == text ||
         (operation != MPI_LAND && operation != MPI_LOR && operation != MPI_LXOR);
#else
  (void)kind, (void)operation;
  return 1;
#endif
}

static uint64_t hash_of(const unsigned char* bytes, size_t length) { // FNV-1a
  uint64_t hash = 14695981039346656037ULL;
  for (size_t i = 0; i < length; ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

// Predefined too, but without a name; null where the library has no Fortran.
static MPI_Datatype of_fortran(MPI_Datatype kind) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  int code = MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (kind == MPI_INTEGER) code = MPI_Type_create_f90_integer(9, &made);
  if (kind == MPI_REAL) code = MPI_Type_create_f90_real(6, 30, &made);
  if (kind == MPI_COMPLEX) code = MPI_Type_create_f90_complex(15, 300, &made);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  return code == MPI_SUCCESS ? made : MPI_DATATYPE_NULL;
}

static void every_pair(MPI_Comm communicator) {
  const struct named_type types[] = {
      ROW(MPI_CHAR, text),
      ROW(MPI_WCHAR, text),
      ROW(MPI_CHARACTER, text),
      ROW(MPI_PACKED, text),
      ROW(MPI_BYTE, whole),
      ROW(MPI_SIGNED_CHAR, whole),
      ROW(MPI_UNSIGNED_CHAR, whole),
      ROW(MPI_SHORT, whole),
      ROW(MPI_UNSIGNED_SHORT, whole),
      ROW(MPI_INT, whole),
      ROW(MPI_UNSIGNED, whole),
      ROW(MPI_LONG, whole),
      ROW(MPI_UNSIGNED_LONG, whole),
      ROW(MPI_LONG_LONG_INT, whole),
      ROW(MPI_LONG_LONG, whole),
      ROW(MPI_UNSIGNED_LONG_LONG, whole),
      ROW(MPI_INT8_T, whole),
      ROW(MPI_INT16_T, whole),
      ROW(MPI_INT32_T, whole),
      ROW(MPI_INT64_T, whole),
      ROW(MPI_UINT8_T, whole),
      ROW(MPI_UINT16_T, whole),
      ROW(MPI_UINT32_T, whole),
      ROW(MPI_UINT64_T, whole),
      ROW(MPI_AINT, whole),
      ROW(MPI_OFFSET, whole),
      ROW(MPI_COUNT, whole),
      ROW(MPI_C_BOOL, boolean),
      ROW(MPI_CXX_BOOL, boolean),
      ROW(MPI_LOGICAL, whole),
      ROW(MPI_INTEGER, whole),
      ROW(MPI_INTEGER1, whole),
      ROW(MPI_INTEGER2, whole),
      ROW(MPI_INTEGER4, whole),
      ROW(MPI_INTEGER8, whole),
      ROW(MPI_FLOAT, real32),
      ROW(MPI_DOUBLE, real64),
      ROW(MPI_LONG_DOUBLE, extended),
      ROW(MPI_REAL, real32),
      ROW(MPI_DOUBLE_PRECISION, real64),
      ROW(MPI_REAL4, real32),
      ROW(MPI_REAL8, real64),
      ROW(MPI_C_COMPLEX, complex32),
      ROW(MPI_C_FLOAT_COMPLEX, complex32),
      ROW(MPI_C_DOUBLE_COMPLEX, complex64),
      ROW(MPI_C_LONG_DOUBLE_COMPLEX, complex_extended),
      ROW(MPI_COMPLEX, complex32),
      ROW(MPI_DOUBLE_COMPLEX, complex64),
      ROW(MPI_COMPLEX8, complex32),
      ROW(MPI_COMPLEX16, complex64),
      ROW(MPI_CXX_FLOAT_COMPLEX, complex32),
      ROW(MPI_CXX_DOUBLE_COMPLEX, complex64),
      ROW(MPI_CXX_LONG_DOUBLE_COMPLEX, complex_extended),
      ROW(MPI_2INT, pair),
      ROW(MPI_SHORT_INT, pair),
      ROW(MPI_LONG_INT, pair),
      ROW(MPI_DOUBLE_INT, pair),
      ROW(MPI_FLOAT_INT, pair),
      ROW(MPI_LONG_DOUBLE_INT, pair),
      ROW(MPI_2INTEGER, pair),
      ROW(MPI_2REAL, pair),
      ROW(MPI_2DOUBLE_PRECISION, pair),
      {"integer of 9 digits", of_fortran(MPI_INTEGER), whole},
      {"real of 6 digits", of_fortran(MPI_REAL), real32},
      {"complex of 15 digits", of_fortran(MPI_COMPLEX), complex64},
// What MPI leaves to the Fortran compiler. Some are extended numbers in one place and such of 128 bits in another; read
// as the other they are tiny, and exact still.
#ifdef MPI_INTEGER16
      ROW(MPI_INTEGER16, whole),
#endif
#ifdef MPI_REAL2
      ROW(MPI_REAL2, half),
#endif
#ifdef MPI_REAL16
      ROW(MPI_REAL16, extended),
#endif
#ifdef MPI_COMPLEX4
      ROW(MPI_COMPLEX4, half),
#endif
#ifdef MPI_COMPLEX32
      ROW(MPI_COMPLEX32, complex_extended),
#endif
// Beyond MPI 3.1.
#ifdef MPI_LOGICAL1
      ROW(MPI_LOGICAL1, whole),
#endif
#ifdef MPI_LOGICAL2
      ROW(MPI_LOGICAL2, whole),
#endif
#ifdef MPI_LOGICAL4
      ROW(MPI_LOGICAL4, whole),
#endif
#ifdef MPI_LOGICAL8
      ROW(MPI_LOGICAL8, whole),
#endif
#ifdef MPI_CXX_COMPLEX
      ROW(MPI_CXX_COMPLEX, complex32),
#endif
#ifdef MPI_2COMPLEX
      ROW(MPI_2COMPLEX, complex32),
#endif
#ifdef MPI_2DOUBLE_COMPLEX
      ROW(MPI_2DOUBLE_COMPLEX, complex64),
#endif
#ifdef MPIX_C_FLOAT16
      ROW(MPIX_C_FLOAT16, half),
#endif
  };
  const struct named_operation operations[] = {
      ROW(MPI_MAX, ),    ROW(MPI_MIN, ),    ROW(MPI_SUM, ),     ROW(MPI_PROD, ), ROW(MPI_LAND, ),
      ROW(MPI_BAND, ),   ROW(MPI_LOR, ),    ROW(MPI_BOR, ),     ROW(MPI_LXOR, ), ROW(MPI_BXOR, ),
      ROW(MPI_MINLOC, ), ROW(MPI_MAXLOC, ), ROW(MPI_REPLACE, ), ROW(MPI_NO_OP, )};
  static unsigned char in[count * most_bytes], out[count * most_bytes];
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    if (types[t].type == MPI_DATATYPE_NULL) {
      if (rank == 0) printf("%s is not defined\n", types[t].name);
      continue;
    }
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(types[t].type, &lower, &extent);
    for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o) {
      if (!survivable(types[t].kind, operations[o].operation)) continue;
      // The second time on a communicator it may be another's work than the first.
      for (int turn = 0; turn < 2; ++turn) {
        for (int i = 0; i < count; ++i)
          put(in + i * extent, types[t].kind, (int)extent, 1 + (rank + i + turn) % 2, rank);
        memset(out, 0, sizeof out);
        const int code = MPI_Allreduce(in, out, count, types[t].type, operations[o].operation, communicator);
        int class = MPI_SUCCESS, length = 0;
        char words[MPI_MAX_ERROR_STRING] = "";
        if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
        MPI_Error_string(class, words, &length);
        if (rank != 0) continue;
        if (class != MPI_SUCCESS)
          printf("%s %s: %s\n", types[t].name, operations[o].name, words);
        else
          printf("%s %s: %016llx\n", types[t].name, operations[o].name,
                 (unsigned long long)hash_of(out, (size_t)(count * extent)));
      }
    }
  }
}

static const char* class_of(double value) {
  if (isnan(value)) return "NaN";
  if (isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return signbit(value) ? "-0" : "0";
  return fpclassify(value) == FP_SUBNORMAL ? "subnormal" : value < 0 ? "negative" : "positive";
}

// Each row is what rank 0 and the others give. MPI leaves open what the smallest of a number and NaN is.
static void special(MPI_Comm communicator) {
  const double tiny = DBL_MIN / 8, huge = DBL_MAX, nan = NAN, inf = INFINITY;
  const double rows[][2] = {{nan, 1},     {1, nan},     {inf, 1},   {inf, -inf},  {-inf, -inf},
                            {0.0, -0.0},  {-0.0, -0.0}, {0.0, 0.0}, {tiny, tiny}, {tiny, -tiny},
                            {huge, huge}, {1, -1},      {inf, 0}};
  const struct named_operation operations[] = {ROW(MPI_SUM, ), ROW(MPI_PROD, ), ROW(MPI_MAX, ), ROW(MPI_MIN, )};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
    for (size_t o = 0; o < 4; ++o) {
      const int zeros = rows[r][0] == 0 && rows[r][1] == 0;
      if (o >= 2 && (isnan(rows[r][0]) || isnan(rows[r][1]) || zeros)) continue;
      for (int size = 1; size < 4000; size = size * 5 + 1) {
        double in[4000], out[4000];
        float small_in[4000], small_out[4000];
        for (int i = 0; i < size; ++i) {
          in[i] = rows[r][rank == 0 ? 0 : 1];
          small_in[i] = fabs(in[i]) == tiny   ? (float)copysign(FLT_MIN / 8, in[i])
                        : fabs(in[i]) == huge ? (float)copysign(FLT_MAX, in[i])
                                              : (float)in[i];
        }
        MPI_Allreduce(in, out, size, MPI_DOUBLE, operations[o].operation, communicator);
        MPI_Allreduce(small_in, small_out, size, MPI_FLOAT, operations[o].operation, communicator);
        if (rank != 0) continue;
        printf("%s of %g and %g, %d times: %s", operations[o].name, rows[r][0], rows[r][1], size, class_of(out[0]));
        const int same = memcmp(out, out + 1, (size_t)(size - 1) * sizeof *out) == 0 || isnan(out[0]);
        double first = small_out[0];
        if (fpclassify(small_out[0]) == FP_SUBNORMAL) first = tiny;
        printf(" %s%s\n", class_of(first), same ? "" : " (not all alike)");
      }
    }
}

#ifdef MPIX_C_FLOAT16
// Small whole numbers in the format binary16 of IEEE 754.
static uint16_t half_of(int number) {
  const int size = abs(number);
  if (size == 0) return 0;
  int exponent = 0;
  while (size >> (exponent + 1) != 0)
    ++exponent;
  return (uint16_t)((number < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | (size << (10 - exponent) & 0x3FF));
}

static void halves(MPI_Comm communicator) {
  const struct named_operation operations[] = {ROW(MPI_SUM, ), ROW(MPI_MIN, ), ROW(MPI_MAX, )};
  enum { most = 6000 };
  static uint16_t in[most], out[most];
  for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o)
    for (int size = 1; size <= most; size = size * 4 + 1) {
      int wrong = 0, all_wrong = 0;
      for (int i = 0; i < size; ++i)
        in[i] = half_of((rank + 1) * (i % 100 - 50));
      MPI_Allreduce(in, out, size, MPIX_C_FLOAT16, operations[o].operation, communicator);
      for (int i = 0; i < size; ++i) {
        const int number = i % 100 - 50, least = number < 0 ? ranks * number : number;
        const int wanted = o == 0 ? ranks * (ranks + 1) / 2 * number : o == 1 ? least : (ranks + 1) * number - least;
        wrong += out[i] != half_of(wanted);
      }
      MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, communicator);
      if (rank == 0) printf("%s of %d halves: %d wrong\n", operations[o].name, size, all_wrong);
    }
}
#else
static void halves(MPI_Comm communicator) {
  (void)communicator;
  if (rank == 0) puts("halves: this MPI library does not have them");
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm communicator;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // where Open MPI raises some
  if (argc > 1 && strcmp(argv[1], "halves") == 0)
    halves(communicator);
  else if (argc > 1)
    special(communicator);
  else
    every_pair(communicator);
  MPI_Comm_free(&communicator);
  MPI_Finalize();
  return 0;
}
