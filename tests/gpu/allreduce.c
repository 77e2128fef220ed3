// SPDX-License-Identifier: BSD-3-Clause
// An MPI program whose buffers are in the memory of a GPU, to be run with strata preloaded: allreduce [PART [MOST]]
//
//     types    every type and operation that strata reduces under MPI
//     sizes    sums of floats, from 4 bytes to 1 GiB
//     kinds    memory of all kinds, mixed over the ranks and between what is sent and received, at odd places
//     all      these three (without PART)
//     native   a reduction that is the MPI library's
//     refused  under STRATA_DEVICE_NATIVE=refuse: that an error comes, and no crash
//
// Contributions are random, so that floats round. Each result is compared, bit for bit, with that of the same call on
// buffers in host memory: the schedule is the same, and so is the order of operands. What is around a result must stay
// as it was. Vectors have at most MOST bytes, and as many as there is memory for. Exits with 77 where there is no GPU.
#include "gpu_memory.h"
#include "values.h"

#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { around = 64, most_told = 10 };
enum { sums = 1, other_arithmetic = 2, logical = 4, bitwise = 8 }; // classes of operations

struct type {
  const char* name;
  MPI_Datatype type;
  enum form form;
  size_t bytes, elements; // of an element, and how many make an item
  int operations;         // that strata reduces it by
};
struct operation {
  const char* name;
  MPI_Op operation;
  int class;
};
struct call {
  const struct type* type;
  const struct operation* operation;
  size_t items, skipped; // in front of the buffers, so that these begin anywhere
  enum kind_of_memory send, receive;
  int in_place;
};

static int rank, ranks, calls, wrong, parts;
static size_t most_bytes = (size_t)1 << 30;

static void stop(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// What the ranks tell each other is not for strata: its plans are to be made by calls with buffers on the device.
static size_t least_of_all(size_t mine) {
  unsigned long long value = mine, least = 0;
  PMPI_Allreduce(&value, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
  return (size_t)least;
}

static void tell(const struct call* call, const char* what) {
  ++wrong;
  if (wrong > most_told) return;
  printf("FAILED: rank %d of %d: %s of %zu %s, %s to %s%s, %zu items in: %s\n", rank, ranks, call->operation->name,
         call->items, call->type->name, names_of_memory[call->send], names_of_memory[call->receive],
         call->in_place ? ", in place" : "", call->skipped, what);
}

// `seen` begins and ends with what is around the result.
static void compare(const struct call* call, const unsigned char* seen, size_t before, const unsigned char* expected,
                    size_t bytes) {
  char text[160];
  const size_t place = first_difference(seen + before, expected, bytes);
  if (place < bytes) {
    const size_t element = place / call->type->bytes;
    uint64_t is = 0, should = 0;
    memcpy(&is, seen + before + element * call->type->bytes, call->type->bytes);
    memcpy(&should, expected + element * call->type->bytes, call->type->bytes);
    snprintf(text, sizeof text, "element %zu is %llx, on the host %llx", element, (unsigned long long)is,
             (unsigned long long)should);
    tell(call, text);
    return;
  }
  for (size_t i = 0; i < before + around; ++i) {
    if (seen[i < before ? i : i + bytes] == 0xa5) continue;
    tell(call, i < before ? "what lies before the result was written" : "what lies behind the result was written");
    return;
  }
}

// The same on all ranks, but for the kinds of memory.
static void check(const struct call* call) {
  const size_t item = call->type->bytes * call->type->elements, bytes = call->items * item;
  const size_t before = around + call->skipped * item, room = before + bytes + around;
  if (bytes > most_bytes) return;
  unsigned char* const values = malloc(bytes);
  unsigned char* const expected = malloc(bytes);
  unsigned char* const seen = malloc(room);
  struct memory receive = allocate(call->receive, room);
  struct memory send = {host_memory, NULL, 0, 0};
  if (!call->in_place) send = allocate(call->send, room);
  if (values == NULL || expected == NULL || seen == NULL || receive.begin == NULL ||
      (send.begin == NULL && !call->in_place))
    stop("no memory for a call");
  fill(values, call->items * call->type->elements, call->type->form, call->type->bytes,
       (uint64_t)calls * 1000003 + (uint64_t)rank);
  memset(seen, 0xa5, room);
  if (call->in_place) memcpy(seen + before, values, bytes);
  if (!write_memory(&receive, 0, seen, room) || (!call->in_place && !write_memory(&send, before, values, bytes)))
    stop("the driver cannot copy to a buffer");
  MPI_Allreduce(call->in_place ? MPI_IN_PLACE : send.begin + before, receive.begin + before, (int)call->items,
                call->type->type, call->operation->operation, MPI_COMM_WORLD);
  if (!read_memory(seen, &receive, 0, room)) stop("the driver cannot copy from a buffer");
  MPI_Allreduce(values, expected, (int)call->items, call->type->type, call->operation->operation, MPI_COMM_WORLD);
  compare(call, seen, before, expected, bytes);
  ++calls;
  release(&send);
  release(&receive);
  free(values);
  free(expected);
  free(seen);
}

#define ROW(name) #name, name
static void types(void) {
  const int of_integers = sums | other_arithmetic | logical | bitwise, of_floats = sums | other_arithmetic;
  const struct type rows[] = {
      {ROW(MPI_INT8_T), whole_form, 1, 1, of_integers},     {ROW(MPI_UINT8_T), whole_form, 1, 1, of_integers},
      {ROW(MPI_INT16_T), whole_form, 2, 1, of_integers},    {ROW(MPI_UINT16_T), whole_form, 2, 1, of_integers},
      {ROW(MPI_INT32_T), whole_form, 4, 1, of_integers},    {ROW(MPI_UINT32_T), whole_form, 4, 1, of_integers},
      {ROW(MPI_INT64_T), whole_form, 8, 1, of_integers},    {ROW(MPI_UINT64_T), whole_form, 8, 1, of_integers},
      {ROW(MPI_FLOAT), float32_form, 4, 1, of_floats},      {ROW(MPI_DOUBLE), float64_form, 8, 1, of_floats},
      {ROW(MPI_C_FLOAT_COMPLEX), float32_form, 4, 2, sums}, {ROW(MPI_C_DOUBLE_COMPLEX), float64_form, 8, 2, sums},
      {ROW(MPI_C_BOOL), truth_form, 1, 1, logical},         {ROW(MPI_BYTE), whole_form, 1, 1, bitwise},
#ifdef MPIX_C_FLOAT16
      {ROW(MPIX_C_FLOAT16), float16_form, 2, 1, of_floats},
#endif
  };
  const struct operation operations[] = {
      {ROW(MPI_SUM), sums},
      {ROW(MPI_PROD), other_arithmetic},
      {ROW(MPI_MIN), other_arithmetic},
      {ROW(MPI_MAX), other_arithmetic},
      {ROW(MPI_LAND), logical},
      {ROW(MPI_LOR), logical},
      {ROW(MPI_LXOR), logical},
      {ROW(MPI_BAND), bitwise},
      {ROW(MPI_BOR), bitwise},
      {ROW(MPI_BXOR), bitwise},
  };
  static const size_t counts[] = {1, 3, 1001, 70001};
  for (size_t t = 0; t < sizeof rows / sizeof *rows; ++t)
    for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o)
      for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        if ((rows[t].operations & operations[o].class) == 0) continue;
        const int in_place = (int)(t + o + c) % 2;
        const struct call call = {&rows[t], &operations[o], counts[c], c % 2, device_memory, device_memory, in_place};
        check(&call);
      }
}

static const struct type* floats(void) {
  static struct type of;
  of = (struct type){ROW(MPI_FLOAT), float32_form, 4, 1, sums};
  return &of;
}
static const struct operation* sum(void) {
  static struct operation of;
  of = (struct operation){ROW(MPI_SUM), sums};
  return &of;
}

static void sizes(void) {
  static const size_t counts[] = {1, 2, 25, 256, 1025, 16383, 262145, (4 << 20) + 3, 16 << 20, 64 << 20, 256 << 20};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (int in_place = 0; in_place < 2; ++in_place) {
      const struct call call = {floats(), sum(), counts[c], 0, device_memory, device_memory, in_place};
      check(&call);
    }
}

// Every pair of kinds on every rank, and at a time other pairs on other ranks.
static void kinds(void) {
  static const size_t counts[] = {1, 1000, 65537, 1000003};
  enum kind_of_memory known[kinds_of_memory];
  size_t some = 0;
  for (int kind = 0; kind < kinds_of_memory; ++kind) {
    struct memory one = allocate((enum kind_of_memory)kind, 4096);
    const size_t everywhere = least_of_all(one.begin != NULL);
    release(&one);
    if (everywhere)
      known[some++] = (enum kind_of_memory)kind;
    else if (rank == 0)
      printf("kinds: this driver or device has no %s memory; left out\n", names_of_memory[kind]);
  }
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (size_t mixture = 0; mixture < some * some; ++mixture)
      for (int in_place = 0; in_place < 2; ++in_place) {
        const size_t pick = mixture + (size_t)rank * (some + 1);
        const enum kind_of_memory send = known[pick % some], receive = known[pick / some % some];
        const struct call call = {floats(), sum(), counts[c], mixture % 4, send, receive, in_place};
        check(&call);
      }
}

// The place of the largest number, which no schedule of strata's reduces: right in any order.
static void native(void) {
  enum { count = 1000 };
  struct numbered {
    double value;
    int place;
  } *const values = calloc(count, sizeof *values), *const seen = calloc(count, sizeof *seen),
           *const expected = calloc(count, sizeof *expected);
  struct memory send = allocate(device_memory, count * sizeof *values);
  struct memory receive = allocate(rank % 2 ? managed_memory : device_memory, count * sizeof *values);
  if (values == NULL || seen == NULL || expected == NULL || send.begin == NULL || receive.begin == NULL)
    stop("no memory for a call");
  for (int i = 0; i < count; ++i) {
    values[i].value = (double)(mixed((uint64_t)i * 64 + (uint64_t)rank) >> 12);
    values[i].place = rank;
  }
  if (!write_memory(&send, 0, values, count * sizeof *values) ||
      !write_memory(&receive, 0, seen, count * sizeof *values))
    stop("the driver cannot copy to a buffer");
  MPI_Allreduce(send.begin, receive.begin, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  if (!read_memory(seen, &receive, 0, count * sizeof *values)) stop("the driver cannot copy from a buffer");
  MPI_Allreduce(values, expected, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  ++calls;
  for (int i = 0; i < count; ++i)
    if (seen[i].value != expected[i].value || seen[i].place != expected[i].place) {
      ++wrong;
      printf("FAILED: rank %d of %d: MPI_MAXLOC: element %d is of rank %d, not of %d\n", rank, ranks, i, seen[i].place,
             expected[i].place);
      break;
    }
  release(&send);
  release(&receive);
  free(values);
  free(seen);
  free(expected);
}

static void refused(void) {
  int class = MPI_SUCCESS;
  struct memory some = allocate(device_memory, 4096);
  if (some.begin == NULL) stop("no memory for a call");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Allreduce(MPI_IN_PLACE, some.begin, 1000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Error_class(code, &class);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  ++calls;
  wrong += class != MPI_ERR_BUFFER;
  if (class != MPI_ERR_BUFFER)
    printf("FAILED: rank %d of %d: the call returned class %d, not MPI_ERR_BUFFER\n", rank, ranks, class);
  release(&some);
}

// Three vectors of the host's and two of the device's at most, on each rank, and room for strata and the others.
static void bound_by_memory(void) {
  const long pages = sysconf(_SC_AVPHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  const size_t shares = (size_t)ranks * 4, on_device = device_bytes_left();
  if (pages > 0 && (size_t)pages / shares * (size_t)page_bytes < most_bytes)
    most_bytes = (size_t)pages / shares * (size_t)page_bytes;
  if (on_device > 0 && on_device / shares < most_bytes) most_bytes = on_device / shares;
  most_bytes = least_of_all(most_bytes);
  if (rank == 0) printf("vectors of up to %zu bytes\n", most_bytes);
}

static int rank_in_node(void) {
  MPI_Comm node;
  int found = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &found);
  MPI_Comm_free(&node);
  return found;
}

// All ranks' results so far.
static unsigned long long count_wrong(void) {
  const unsigned long long mine = (unsigned long long)wrong;
  unsigned long long all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static void run(const char* name, void (*part)(void), const char* wanted) {
  if (strcmp(wanted, name) != 0 && strcmp(wanted, "all") != 0) return;
  const int before = calls;
  part();
  ++parts;
  const unsigned long long all_wrong = count_wrong();
  if (rank == 0)
    printf("%s: %d calls by %d ranks, %llu results were wrong by now\n", name, calls - before, ranks, all_wrong);
}

int main(int argc, char** argv) {
  const int has_driver = open_gpu_driver();
  MPI_Init(&argc, &argv);
  const char* const part = argc > 1 ? argv[1] : "all";
  const int alone = strcmp(part, "native") == 0 || strcmp(part, "refused") == 0; // not among all
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // a run that is stopped shows how far it came
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 2) most_bytes = (size_t)strtoull(argv[2], NULL, 10);
  const int in_node = rank_in_node();
  if (least_of_all(has_driver && choose_gpu(in_node)) == 0) {
    if (rank == 0) printf("no GPU here\n");
    MPI_Finalize();
    return 77;
  }
  bound_by_memory();
  // On the device on all ranks, before anything else: only plans that are made from now on have slots there.
  const struct call first = {floats(), sum(), 1000, 0, device_memory, device_memory, 0};
  if (strcmp(part, "refused") != 0) check(&first);
  run("types", types, part);
  run("sizes", sizes, part);
  run("kinds", kinds, part);
  if (alone) run(part, strcmp(part, "native") == 0 ? native : refused, part);
  const unsigned long long all_wrong = count_wrong();
  if (rank == 0 && parts == 0) printf("FAILED: there is no part %s\n", part);
  MPI_Finalize();
  return all_wrong != 0 || parts == 0;
}
