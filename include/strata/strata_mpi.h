/* SPDX-License-Identifier: BSD-3-Clause */
/** \file
 *  strata under MPI: what a program or tool can ask of the preloaded or linked libstrata-mpi, and contexts of the C API
 *  made of communicators.
 *
 *  A program needs none of this: MPI_Allreduce is enough. Include <mpi.h> of the MPI library in use first for what
 *  takes a communicator.
 */
#ifndef STRATA_STRATA_MPI_H
#define STRATA_STRATA_MPI_H

#include "strata/strata.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What strata tells of itself. Handles are passed as pointers to them (`&comm`), so that this header needs no mpi.h.
 *  Texts are JSON objects in UTF-8, terminated by a zero; each function returns the bytes that the whole text needs,
 *  terminator included, and writes nothing beyond `room`. Call with room 0 to ask. A text for which there is no memory
 * is as if there were nothing to tell; a rank that has none for what is collective ends its process, because the others
 *  would wait for it. Thread-safe under MPI_THREAD_MULTIPLE, but for set_option; a function may wait for calls of other
 *  threads that are under way. In a build without nlohmann-json every JSON object is empty. Below, "by rank" means a
 *  list with an entry for each rank of the communicator; new keys may be added, so look only for those you need. */
struct strata_mpi_introspection {
  uint32_t version; /**< 6; what a version adds stands at the end */

  /** The MPI library's own all-reduce, past strata: the address of a function with MPI_Allreduce's type. */
  void (*native_allreduce)(void);

  /** Hierarchy, transports by rank, hosts and notes of the context of `*communicator`; makes the context if it is not
   *  there yet, so it is collective then. An empty object when the communicator is not eligible.
   *    rank, ranks, nodes  numbers; `rank` is this process
   *    hosts               host names, by rank
   *    levels              list, innermost first: {name, link, groups}; link is "shared cache", "shared memory",
   *                        "network" or "shared uplink", groups a list of lists of ranks
   *    transports          by rank, what reaches it from here: "self", "shm", "ucx", "mpi"
   *    switches            by rank, its node's switch by the scheduler's word; empty texts: it says nothing
   *    links               {origin, path} of what is known of the links between nodes: "none", "this job",
   *                        "an earlier job", "the site" or "a file"; the file it is from, or an empty text
   *    notes               list of sentences: transports that were skipped, and why
   *    machine             the machine as a table of ways has it (strata-table(5))
   *    kernels             the instruction set of the reductions
   *    options             {name without STRATA_: value as text}, as agreed on */
  size_t (*describe_context)(const void* communicator, char* text, size_t room);

  /** What would run for `bytes` on `*communicator`: chosen, predicted seconds, runners-up. Local once a context exists.
   *    bytes              as given
   *    low, high          the bytes of the class of sizes that it is in
   *    chosen             name of the algorithm that is best by prediction, or by a table
   *    source             the table that says so; empty: prediction
   *    predicted_seconds  of a call
   *    runners_up         list, the best first: {name, seconds}
   *    on_trial           whether calls of this size still try one way after the other
   *    way                what does them now, in the words of strata-table(5); empty: not decided, or on trial
   *    ways               list of lists: the ways of the chosen one, then those of each of runners_up, in these words
   *    note               a sentence when an option or a table cannot be followed; else empty */
  size_t (*describe_choice)(const void* communicator, uint64_t bytes, char* text, size_t room);

  /** Calls and bytes by algorithm, native calls by reason, traffic by level and transport, of this process.
   *    algorithms     {name: {calls, bytes}}, of calls that strata did
   *    native         {reason: {calls, bytes}}, of those that went to the MPI library; some reasons count calls only
   *    levels         {name: {messages, bytes}}, sent by this process
   *    transports     {name: {messages, bytes}}, likewise
   *    device         {path: {calls, bytes}}, with buffers in device memory, and bytes that were moved for them; paths
   *                   are "peer", "GPUDirect", "peer, through the host", "staged" and "staged for the MPI library"
   *    contexts       how many were made
   *    segment_bytes  the most shared memory, and
   *    scratch_bytes  the most private scratch, that they held at a time */
  size_t (*describe_statistics)(char* text, size_t room);

  /** Since version 2. Sets an option that all ranks agree on (strata.7) for communicators that strata does not serve
   *  yet, by its name without STRATA_: set_option("SLICE", "64K"). All ranks are to set the same. For tools that
   * compare options in one process. Returns 0, or -1 when there is no such option, it is not an agreed one, or the
   * value is not allowed. Not thread-safe. */
  int (*set_option)(const char* name, const char* value);

  /** Since version 3. Measures the links between the nodes of `*communicator` now, and what memory and messages take,
   *  to the end, whatever STRATA_PROBE says; collective. Makes the context if it is not there yet. 0; -1 when the
   * communicator has no context or the ranks could not exchange. */
  int (*measure_links)(const void* communicator);

  /** Since version 3. What is known of these links: the text of a profile (strata-profile(5)), measured or found, on
   *  rank 0; empty when nothing is, or where hosts have no names of their own, and on the other ranks. Local. */
  size_t (*describe_links)(const void* communicator, char* text, size_t room);

  /** Since version 4. Does calls of this many bytes, and of the others in the same class of sizes (four to an octave),
   *  on `*communicator` in this way from now on, and tries no other way: for tools that measure ways. `way` is in the
   *  words of strata-table(5), such as "direct+ring slice=384K"; describe_choice() has those that strata knows.
   *  There are no buffers to look at: a way that is made here first stages those in device memory.
   *  Collective; makes the context if it is not there yet. 0, or -1 when the words are wrong or the way is not possible
   *  here. */
  int (*use_way)(const void* communicator, uint64_t bytes, const char* way);

  /** Since version 5. What measure_links() or a probe of this job saw of each pair of nodes, on rank 0: host names by
   *  node, and rows (from) of columns (to) of seconds and of bytes per second, null where a pair has not met. An empty
   *  object when nothing was measured here, and on the other ranks. Local.
   *    hosts      by node, the host of its first rank
   *    latency    seconds, latency[from][to]
   *    bandwidth  bytes per second, likewise */
  size_t (*describe_pairs)(const void* communicator, char* text, size_t room);

  /** Since version 6. What ways on trial may cost on `*communicator`, in percent of the time of a size's calls, from 1
   *  to 100, as STRATA_TRIAL (strata(7)) says for all: for trials that begin from now on. All ranks are to say the same
   *  between the same calls. Makes the context if it is not there yet, so it is collective then. 0, or -1 when there is
   *  no context or `percent` is not allowed. */
  int (*set_trial)(const void* communicator, unsigned percent);
};

/** Null when strata does nothing in this process (no MPI library, no module for it, STRATA_MODE=off
 *  without STRATA_DEVICE_NATIVE=refuse).
 *  Thread-safe after MPI_Init. */
const struct strata_mpi_introspection* strata_mpi_introspect(void);

#ifdef MPI_VERSION /* <mpi.h> was included before */

/** For strata_context_create_mpi(): the bootstrap over the communicator that `user` points to. */
static inline int strata_mpi_all_gather(void* user, const void* mine, void* all, size_t bytes) {
  if (bytes > INT_MAX) return MPI_ERR_COUNT; /* on all ranks */
  return MPI_Allgather((void*)mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *(MPI_Comm*)user);
}

/** For strata_context_create_mpi(): lets the MPI library progress while strata waits. */
static inline void strata_mpi_progress(void* user) {
  int found = 0;
  (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, *(MPI_Comm*)user, &found, MPI_STATUS_IGNORE);
}

/** For strata_context_create_mpi(): frees the duplicate. */
static inline void strata_mpi_release(void* user) {
  (void)MPI_Comm_free((MPI_Comm*)user);
  free(user);
}

/** Makes a context of the C API of the ranks of `communicator`; collective over them. It is compiled into the program,
 *  which links libstrata, so it works with any MPI library.
 *
 *  \param communicator  an intracommunicator. The context keeps a duplicate, whose errors are returned whatever handler
 *                       the program has set; strata_context_destroy() frees it, so all ranks call that, and before
 *                       MPI_Finalize.
 *  \param context       set to the new context, or to NULL when there is none.
 *  \return as strata_context_create(); STRATA_ERR_ARG also for an intercommunicator, and STRATA_ERR_ARG or
 *          STRATA_ERR_RESOURCE when there is no duplicate (then strata_last_error_message() does not tell of it).
 *  Safe in several threads at once under MPI_THREAD_MULTIPLE, for different communicators. */
static inline int strata_context_create_mpi(MPI_Comm communicator, strata_context_t** context) {
  struct strata_bootstrap bootstrap;
  int level = MPI_THREAD_SINGLE;
  MPI_Comm* own = (MPI_Comm*)malloc(sizeof *own);
  int between = 0, rank = 0, ranks = 0;
  if (context == NULL) {
    free(own);
    return STRATA_ERR_ARG;
  }
  *context = NULL;
  if (own == NULL) return STRATA_ERR_RESOURCE;
  if (MPI_Comm_test_inter(communicator, &between) != MPI_SUCCESS || between ||
      MPI_Comm_rank(communicator, &rank) != MPI_SUCCESS || MPI_Comm_size(communicator, &ranks) != MPI_SUCCESS ||
      MPI_Comm_dup(communicator, own) != MPI_SUCCESS) {
    free(own);
    return STRATA_ERR_ARG;
  }
  /* It has the program's handler, which may end the job; strata_allreduce() is to return instead. */
  (void)MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
  bootstrap.rank = rank;
  bootstrap.ranks = ranks;
  bootstrap.all_gather = strata_mpi_all_gather;
  bootstrap.progress = strata_mpi_progress;
  bootstrap.release = strata_mpi_release;
  bootstrap.user = own;
  bootstrap.threads = MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
  return strata_context_create(&bootstrap, context);
}

#endif /* MPI_VERSION */

#ifdef __cplusplus
}
#endif

#endif
