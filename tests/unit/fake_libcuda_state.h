// SPDX-License-Identifier: BSD-3-Clause
// What the files of the libcuda for tests share: what is behind its handles, what is allocated, and how every call
// begins.
#pragma once

#include "fake_libcuda.h"

#include <cuda.h>

#define EXPORTED __attribute__((visibility("default")))
#define FAKE_DEVICE_BYTES ((size_t)80 << 30)

enum { fake_page = 4096 };

struct CUctx_st {
  int device;
  int retained;
};
struct CUstream_st {
  CUcontext context;
};
struct CUevent_st {
  CUcontext context;
};
struct CUmod_st {
  CUcontext context;
  const unsigned char* image;
};
struct CUfunc_st {
  char name[64];
};
struct allocation {
  char* begin;
  size_t bytes;
  enum fake_memory kind;
  int device;
  unsigned long long id;
  unsigned access;                      // bit d: streams of device d may copy it
  struct allocation* mapped;            // what is mapped by a handle; null for memory that was allocated
  CUmemGenericAllocationHandle created; // of cuMemCreate, where that is mapped here
};

extern struct fake_libcuda fake_libcuda EXPORTED;
// Streams, events, modules and what cuMemCreate gave, if it was not given back.
extern int fake_objects;

// Every call begins with this: it is counted, and fails if the test says so.
CUresult fake_asked(const char* name);
#define ASKED(name)                                                                                                    \
  do {                                                                                                                 \
    const CUresult answer = fake_asked(name);                                                                          \
    if (answer != CUDA_SUCCESS) return answer;                                                                         \
  } while (0)
#define NEEDS(condition, code)                                                                                         \
  do {                                                                                                                 \
    if (!(condition)) return code;                                                                                     \
  } while (0)

CUcontext fake_current_context(void);
// The allocation that the address lies in; null if there is none.
struct allocation* fake_allocation_at(const void* pointer);
// The same, of addresses that are only reserved too.
struct allocation* fake_range_at(const void* pointer);
CUresult fake_allocate(CUdeviceptr* place, enum fake_memory kind, int device, size_t bytes, size_t alignment);
// Gives back what begins there.
CUresult fake_release_at(void* memory);
unsigned long long fake_new_id(void);
// Whether a stream of the device may copy from or to there.
int fake_reaches(int device, CUdeviceptr place);
void fake_forget_created(void);
// As the program's own call makes and ends one.
void* fake_make_stream(void);
void fake_release_stream(void* stream);
