/* SPDX-License-Identifier: BSD-3-Clause */
/** \file
 *  strata: collectives for ranks on machines whose links are not all alike.
 *
 *  This is the interface for programs that have no MPI, or that want to call strata beside it. An MPI program needs
 * none of this: preload libstrata-mpi.so, and its MPI_Allreduce is faster (strata.7).
 *
 *  Ranks find each other by two functions of the program (struct strata_bootstrap); everything after that is strata's
 *  own: shared memory within a node, UCX between nodes. Options come from the environment, as strata.7 lists them.
 *
 *  Functions that return int return STRATA_OK or another of enum strata_code; strata_last_error_message() tells what
 *  happened in one line. The library never ends the process. It prints what STRATA_LOG and STRATA_HANG_SECONDS ask for,
 *  and, once, options that are malformed, differ between ranks, or name what cannot be used.
 */
#ifndef STRATA_STRATA_H
#define STRATA_STRATA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What functions return. */
enum strata_code {
  STRATA_OK = 0,
  STRATA_ERR_ARG = 1,         /**< An argument is not allowed; nothing was sent. */
  STRATA_ERR_RESOURCE = 2,    /**< Memory, descriptors or a device ran out. */
  STRATA_ERR_UNSUPPORTED = 3, /**< This build or this machine cannot do it. */
  STRATA_ERR_PEER = 4         /**< Another rank or a device is gone, or a rank said what does not fit. */
};

/** Kinds of elements. */
enum strata_element {
  STRATA_INT8 = 0,
  STRATA_UINT8 = 1,
  STRATA_INT16 = 2,
  STRATA_UINT16 = 3,
  STRATA_INT32 = 4,
  STRATA_UINT32 = 5,
  STRATA_INT64 = 6,
  STRATA_UINT64 = 7,
  STRATA_FLOAT16 = 8,  /**< IEEE 754 binary16; accumulated in float32, rounded once per step of the schedule. */
  STRATA_BFLOAT16 = 9, /**< Upper half of a float32; accumulated and rounded likewise. */
  STRATA_FLOAT32 = 10,
  STRATA_FLOAT64 = 11
};

/** Reduction operations. Integers wrap; logical operations take any value but 0 for true and give 0 or 1. */
enum strata_operation {
  STRATA_SUM = 0,
  STRATA_PRODUCT = 1,
  STRATA_MINIMUM = 2,
  STRATA_MAXIMUM = 3,
  STRATA_LOGICAL_AND = 4, /**< This and those below: integers only. */
  STRATA_LOGICAL_OR = 5,
  STRATA_LOGICAL_XOR = 6,
  STRATA_BITWISE_AND = 7,
  STRATA_BITWISE_OR = 8,
  STRATA_BITWISE_XOR = 9
};

/** Passed as `send`: the input is in `receive`. */
#define STRATA_IN_PLACE ((const void*)(intptr_t)-1)

/** A set of ranks that reduce together, and all that strata knows of the links between them. */
typedef struct strata_context strata_context_t;

/** How ranks reach each other before strata's own transports are up. strata_context_create() copies the struct; what
 *  `user` points to must live until `release` is called, or, without it, until strata_context_destroy() has returned.
 *  The functions are called in threads that are in a function of strata at that moment; see also `threads`. */
struct strata_bootstrap {
  int32_t rank;  /**< This process: 0 to ranks - 1. */
  int32_t ranks; /**< At least 1. */

  /** Every rank gives `bytes` (the same number on all) and gets those of all ranks in `all`, in the order of ranks.
   *  Called by all ranks together: some times while a context is made, and from within strata_allreduce() when the
   *  first call of a new size is set up, in a trial of ways, and for as long as calls are made now and then when a
   *  way is timed again or, between nodes, links are measured. Returns 0, or anything else when it failed. May be NULL
   *  when `ranks` is 1. */
  int (*all_gather)(void* user, const void* mine, void* all, size_t bytes);

  /** Called every few microseconds while strata waits, for what must go on meanwhile; may be NULL. Must not call
   *  strata. */
  void (*progress)(void* user);

  /** Called once: by strata_context_destroy(), or by strata_context_create() when it fails other than for its
   *  arguments (STRATA_ERR_ARG). Nothing of the table is called after it. May be NULL. */
  void (*release)(void* user);

  void* user; /**< Passed to the three functions. */

  /** Not 0: all_gather and progress may be called from a thread of strata's own, whatever the program's threads do
   *  meanwhile. strata_allreduce_on_stream() needs that; nothing else does. Under MPI: MPI_THREAD_MULTIPLE. */
  int threads;
};

/** The version of the library, such as "0.1.0". Static text. Any thread. */
const char* strata_version(void);

/** A sentence for a code of enum strata_code, in general terms. Static text, for any number. Any thread. */
const char* strata_error_string(int code);

/** What went wrong in the last call that failed in this thread, in one line that names the thing, its value and what is
 *  allowed; empty if none has failed. Never NULL, and at most 1023 bytes. The text stays until another call fails in
 *  this thread, at most until the thread ends; calls that succeed leave it as it is. Any thread, each its own. */
const char* strata_last_error_message(void);

/** Makes a context of the ranks of `bootstrap`. All of them call it together.
 *
 *  \param bootstrap  the same number of ranks and equivalent functions everywhere.
 *  \param context    set to the new context, or to NULL when there is none.
 *  \return STRATA_OK; STRATA_ERR_ARG (all_gather was not called, nor is `release`); STRATA_ERR_PEER (all_gather failed,
 *          or a rank runs another version); STRATA_ERR_UNSUPPORTED (no transport works between some ranks);
 *          STRATA_ERR_RESOURCE. All ranks get an error, or none does, but for STRATA_ERR_ARG.
 *  Safe in several threads at once, for different contexts. */
int strata_context_create(const struct strata_bootstrap* bootstrap, strata_context_t** context);

/** Frees a context; NULL is allowed. No rank waits for another: those that are late may still read what this rank sent
 *  them. No call of any function may be running in the context; for those that were put into streams this waits.
 *  Safe in several threads at once, for different contexts. */
void strata_context_destroy(strata_context_t* context);

/** Reduces `count` elements of all ranks into `receive` on every rank; all ranks get the same bits.
 *
 *  \param context    all ranks of it call this in the same order, with equal `count`, `element` and `operation`.
 *  \param send       `count` elements, or STRATA_IN_PLACE (or `receive` itself) to take the input from `receive`.
 *                    Some ranks may be in place and others not. Both may be in memory of the host or of a device, in
 *                    any mixture over the ranks (STRATA_DEVICE in strata.7); what is in device memory must be ready.
 *  \param receive    room for `count` elements; must not overlap `send` otherwise. Both are aligned to their elements:
 *                    to 1, 2, 4 or 8 bytes.
 *  \param count      0 is allowed and does nothing; then the buffers may be NULL.
 *  \param element    the kind of elements.
 *  \param operation  must be defined for the kind of elements.
 *  \return STRATA_OK; STRATA_ERR_ARG or STRATA_ERR_RESOURCE (nothing was sent, `receive` is untouched; the second means
 *          that this size could not be set up, and all ranks get it; of the first the other ranks do not know, and wait
 *          for this one); STRATA_ERR_PEER (a rank or a device is gone, or all_gather failed: nothing in `receive` is to
 *          be relied on, later calls return this too, and the context can only be destroyed); the error of an earlier
 *          call on a stream.
 *  Blocks until the result is there. Not safe for two threads in one context at once. */
int strata_allreduce(strata_context_t* context, const void* send, void* receive, size_t count,
                     enum strata_element element, enum strata_operation operation);

/** Puts an all-reduce into a stream of the program's accelerator and returns without waiting for it: it runs when the
 *  stream gets there, and what is put into the stream later waits until it is done.
 *
 *  The first call starts a thread of strata's own, which runs the calls of this context one after the other, in the
 *  order in which they were put, whichever streams they are in. So a stream must not wait for a call that was put later
 *  into another one.
 *
 *  \param context  as in strata_allreduce(), as are the arguments up to `operation`; its bootstrap must allow `threads`
 *                  unless it has one rank. Calls of both kinds may be mixed: strata_allreduce() runs behind all calls
 *                  that were put before it.
 *  \param send     as in strata_allreduce(), as is `receive`; both must stay until the stream has passed the call.
 *  \param stream   a cudaStream_t (or CUstream). NULL is the legacy default stream of the current context; a program
 *                  with default streams per thread passes cudaStreamPerThread. Not one that is captured into a graph.
 *  \return STRATA_OK; then an error that comes up later is that of the next call on the context, and of
 *          strata_context_state(): the stream goes on, and `receive` holds nothing to rely on. When nothing was put:
 *          STRATA_ERR_ARG; STRATA_ERR_RESOURCE; STRATA_ERR_UNSUPPORTED (no accelerator is in use, the stream is being
 *          captured or cannot wait for the host (CUDA before 11.7), or the bootstrap does not allow threads).
 *  Not safe for two threads in one context at once. */
int strata_allreduce_on_stream(strata_context_t* context, const void* send, void* receive, size_t count,
                               enum strata_element element, enum strata_operation operation, void* stream);

/** Whether all is well with a context, as far as is known by now: STRATA_OK, or the error of a call on a stream that
 *  failed (that of a strata_allreduce() is returned there alone), with strata_last_error_message(). Such a context
 *  can only be destroyed. Waits for nothing. STRATA_ERR_ARG: context is NULL. Any thread. */
int strata_context_state(strata_context_t* context);

#ifdef __cplusplus
}
#endif

#endif
