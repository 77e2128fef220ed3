/* SPDX-License-Identifier: BSD-3-Clause */
/* What a test program asks of the emulated device, as a real program would of its accelerator's library. The program
 * opens the module emulated.so by itself and finds the function strata_emulated_device_v1 in it; that it is the same
 * object that strata opens makes both see the same memory.
 *
 * What is not put into a stream is done at once and finished on return, and never waits for work of strata's. */
#ifndef STRATA_DEVICE_EMULATED_PROGRAM_H
#define STRATA_DEVICE_EMULATED_PROGRAM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum emulated_kind { emulated_host = 0, emulated_pinned = 1, emulated_managed = 2, emulated_device = 3 };

struct strata_emulated_device {
  /* Memory of `device`, none of the host's own, or null. Initialises the accelerator, as the first use of a real one
   * does. */
  void* (*allocate)(enum emulated_kind kind, int device, size_t bytes);
  /* Device memory whose bytes are a multiple of 4096, and right behind it another allocation, of this kind and device;
   * or, of the host's kind, memory that the accelerator knows nothing of. */
  void* (*allocate_pair)(int device, size_t first_bytes, enum emulated_kind second_kind, int second_device,
                         size_t second_bytes);
  /* 0, or 1 when nothing of that kind begins there. */
  int (*release)(enum emulated_kind kind, void* memory);
  /* Between memory of any kinds: 0, or 1 when a range leaves its allocation. */
  int (*copy)(void* to, const void* from, size_t bytes);
  /* A queue of work on a device, which runs when somebody waits for it; null when there is no such device. */
  void* (*make_stream)(int device);
  void (*destroy_stream)(void* stream);
  /* 0, or 1 as copy(): but it happens later. */
  int (*enqueue_copy)(void* stream, void* to, const void* from, size_t bytes);
  /* Waits until all in the stream has run: 0, or 1 when something failed. */
  int (*synchronise)(void* stream);
  /* How often strata has asked what memory a pointer is in. */
  unsigned long (*questions)(void);
};

typedef const struct strata_emulated_device* (*strata_emulated_device_entry)(void);

#ifdef __cplusplus
}
#endif

#endif
