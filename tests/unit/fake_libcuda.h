/* SPDX-License-Identifier: BSD-3-Clause */
/* What a test sees of the libcuda that tests/unit/fake_libcuda.c makes: what it was asked, and how it is to answer. */
#pragma once

#include <stddef.h>

enum { fake_devices = 3 };

/* Where memory comes from: the answers of cuPointerGetAttributes follow from it, and whose streams may copy it. What is
 * reserved are addresses, which cuMemMap makes mapped memory. */
enum fake_memory { fake_pinned, fake_managed, fake_device, fake_pool, fake_mapped, fake_reserved };

struct fake_libcuda {
  int initialised;          /* whether cuInit was called: before, most calls answer CUDA_ERROR_NOT_INITIALIZED */
  int version;              /* 12040 is CUDA 12.4 */
  int lookup_needs_context; /* cuPointerGetAttributes answers CUDA_ERROR_INVALID_CONTEXT without a current one */
  int host_has_no_context;  /* and so it does, in any context, of memory that it does not know */
  int events_pending;
  int peers_denied;
  int capturing;       /* all streams are, into a graph */
  const char* failing; /* a call's name, without a version; null: none */
  int failing_code;
  /* Runs a launched kernel; `argument` is the one that the kernel takes. */
  void (*launched)(const char* kernel, unsigned blocks, unsigned threads, const void* argument);
  const char* missing_kernel; /* cuModuleGetFunction does not find it */

  /* How often a call was made since reset(). */
  unsigned (*calls)(const char* name);
  /* As after it was loaded, but that cuInit was called. Memory of the program is gone. */
  void (*reset)(void);
  /* Memory of the program, from a context of its own. */
  void* (*allocate)(enum fake_memory kind, int device, size_t bytes);
  void (*release)(void* memory);
  /* The current context of this thread, and one that is not primary. */
  void* (*current)(void);
  void* (*enter_own_context)(int device);
  void (*leave_context)(void);
  /* A stream of the program, of the current context. */
  void* (*make_stream)(void);
  void (*release_stream)(void* stream);
  /* What is not given back: primary contexts, streams, events, modules, allocations, mappings, reserved addresses and
   * what was created to be mapped there. */
  int (*left_over)(void);
};
