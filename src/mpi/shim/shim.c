/* SPDX-License-Identifier: BSD-3-Clause */
/* libstrata-mpi.so: what is preloaded or linked. It needs only libc, and does nothing in a process without MPI.
 *
 * It defines MPI_X and PMPI_X, because Fortran layers and PMPI tools enter through the one or the other:
 *
 *   program -> MPI_X  -> the next MPI_X, if a PMPI tool defines one (it will come back through PMPI_X)
 *                     -> else as PMPI_X
 *   tool    -> PMPI_X -> the module made for this MPI library, which calls the library's own PMPI_X by address
 *
 * So a tool sees every call wherever it stands, and each call is counted once. */
#define _GNU_SOURCE
#include "mpi/shim/locate.h"

#include "strata/strata_mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* MPI_ERR_OTHER is 15 or 16; any error that is not MPI_SUCCESS tells a caller in a process without an MPI library. */
enum { no_mpi_library = 16 };

/* MPI_ERR_COUNT, where a count does not fit what the MPI library has: the same number in Open MPI and MPICH. */
enum { count_too_high = 2 };

/* The shim's state: set once, before the first call is passed on. */
static struct {
  pthread_mutex_t mutex;
  int resolved; /* an MPI library was found; until then each call looks again */
  struct strata_mpi_native native;
  const struct strata_mpi_module* module; /* null: pass everything through */
  strata_mpi_allreduce_function tool_allreduce;
  strata_mpi_allreduce_c_function tool_allreduce_c;
  strata_mpi_init_function tool_init;
  strata_mpi_init_thread_function tool_init_thread;
  strata_mpi_finalize_function tool_finalize;
  int (*call_errhandler)(strata_mpi_handle communicator, int code); /* the MPI library's PMPI_Comm_call_errhandler */
} shim = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int resolve_mpi(const void* send, void* receive, int count, strata_mpi_handle datatype,
                       strata_mpi_handle operation, strata_mpi_handle communicator);
static int resolve_pmpi(const void* send, void* receive, int count, strata_mpi_handle datatype,
                        strata_mpi_handle operation, strata_mpi_handle communicator);

/* Where a call goes; one indirect jump once they are resolved. Another thread may resolve them meanwhile. */
static strata_mpi_allreduce_function mpi_allreduce = resolve_mpi;
static strata_mpi_allreduce_function pmpi_allreduce = resolve_pmpi;

static void say(const char* line) {
  char text[1024];
  const int bytes = snprintf(text, sizeof text, "strata: %s\n", line);
  if (bytes > 0) (void)!write(STDERR_FILENO, text, (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1);
}

/* Whether the user asked to be told; all else about options is the module's. */
static int asked(void) {
  const char* log = secure_getenv("STRATA_LOG");
  return log != NULL && *log != '\0' && strcmp(log, "none") != 0;
}

/* With STRATA_DEVICE_NATIVE=refuse the module is needed all the same, to look at buffers. */
static int switched_off(void) {
  const char* mode = secure_getenv("STRATA_MODE");
  const char* device = secure_getenv("STRATA_DEVICE_NATIVE");
  return mode != NULL && strcmp(mode, "off") == 0 && (device == NULL || strcmp(device, "refuse") != 0);
}

static void open_module(void) {
  char path[4096], line[8192];
  if (strata_shim_module_path(shim.native.library, path, sizeof path) != 0) {
    if (asked()) say("no module path: the library's own folder cannot be found; everything goes to the MPI library");
    return;
  }
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  strata_mpi_module_entry entry = NULL;
  if (handle != NULL) *(void**)&entry = dlsym(handle, "strata_mpi_module_v3");
  if (entry != NULL) shim.module = entry(&shim.native);
  if (shim.module == NULL && asked()) {
    snprintf(line, sizeof line, "there is no module for the MPI library %s (%s); everything goes to it unchanged",
             shim.native.library, handle == NULL ? dlerror() : path);
    say(line);
  }
}

static void find(void) {
  static int said;
  if (strata_shim_find_mpi(&shim.native) != 0) {
    if (asked() && !said++) say("this process has called MPI, but no MPI library is loaded in it");
    return;
  }
  *(void**)&shim.tool_allreduce = strata_shim_find_tool("MPI_Allreduce", shim.native.library);
  *(void**)&shim.tool_allreduce_c = strata_shim_find_tool("MPI_Allreduce_c", shim.native.library);
  *(void**)&shim.tool_init = strata_shim_find_tool("MPI_Init", shim.native.library);
  *(void**)&shim.tool_init_thread = strata_shim_find_tool("MPI_Init_thread", shim.native.library);
  *(void**)&shim.tool_finalize = strata_shim_find_tool("MPI_Finalize", shim.native.library);
  *(void**)&shim.call_errhandler = strata_shim_find_native("PMPI_Comm_call_errhandler", shim.native.library);
  if (switched_off()) {
    if (asked()) say("STRATA_MODE=off: everything goes to the MPI library unchanged");
  } else {
    open_module();
  }
  const strata_mpi_allreduce_function ours = shim.module != NULL ? shim.module->allreduce : shim.native.allreduce;
  __atomic_store_n(&pmpi_allreduce, ours, __ATOMIC_RELEASE);
  __atomic_store_n(&mpi_allreduce, shim.tool_allreduce != NULL ? shim.tool_allreduce : ours, __ATOMIC_RELEASE);
  __atomic_store_n(&shim.resolved, 1, __ATOMIC_RELEASE);
}

static void resolve(void) {
  if (__atomic_load_n(&shim.resolved, __ATOMIC_ACQUIRE)) return;
  pthread_mutex_lock(&shim.mutex);
  if (!shim.resolved) find();
  pthread_mutex_unlock(&shim.mutex);
}

static int resolve_mpi(const void* send, void* receive, int count, strata_mpi_handle datatype,
                       strata_mpi_handle operation, strata_mpi_handle communicator) {
  resolve();
  const strata_mpi_allreduce_function known = __atomic_load_n(&mpi_allreduce, __ATOMIC_ACQUIRE);
  if (known == resolve_mpi) return no_mpi_library;
  return known(send, receive, count, datatype, operation, communicator);
}

static int resolve_pmpi(const void* send, void* receive, int count, strata_mpi_handle datatype,
                        strata_mpi_handle operation, strata_mpi_handle communicator) {
  resolve();
  const strata_mpi_allreduce_function known = __atomic_load_n(&pmpi_allreduce, __ATOMIC_ACQUIRE);
  if (known == resolve_pmpi) return no_mpi_library;
  return known(send, receive, count, datatype, operation, communicator);
}

EXPORT int MPI_Allreduce(const void* send, void* receive, int count, strata_mpi_handle datatype,
                         strata_mpi_handle operation, strata_mpi_handle communicator) {
  return __atomic_load_n(&mpi_allreduce, __ATOMIC_ACQUIRE)(send, receive, count, datatype, operation, communicator);
}

EXPORT int PMPI_Allreduce(const void* send, void* receive, int count, strata_mpi_handle datatype,
                          strata_mpi_handle operation, strata_mpi_handle communicator) {
  return __atomic_load_n(&pmpi_allreduce, __ATOMIC_ACQUIRE)(send, receive, count, datatype, operation, communicator);
}

/* A count beyond an int, for an MPI library that has no MPI_Allreduce_c. */
static int refuse_count(int64_t count, strata_mpi_handle communicator) {
  char line[160];
  snprintf(line, sizeof line,
           "MPI_Allreduce_c of %lld elements: this MPI library has MPI_Allreduce only, of at most %d", (long long)count,
           INT_MAX);
  say(line);
  if (shim.call_errhandler != NULL) (void)shim.call_errhandler(communicator, count_too_high);
  return count_too_high;
}

/* Large counts are rare and take long, so these need no pointer of their own. They are defined also where the MPI
 * library has none (before MPI 4.0), and programs that ask for them as weak symbols then find them: so they do what
 * MPI_Allreduce does wherever the count lets them. */
EXPORT int PMPI_Allreduce_c(const void* send, void* receive, int64_t count, strata_mpi_handle datatype,
                            strata_mpi_handle operation, strata_mpi_handle communicator) {
  resolve();
  if (shim.native.library == NULL) return no_mpi_library;
  if (shim.native.allreduce_c == NULL) {
    if (count > INT_MAX) return refuse_count(count, communicator);
    return PMPI_Allreduce(send, receive, count < 0 ? -1 : (int)count, datatype, operation, communicator);
  }
  return (shim.module != NULL ? shim.module->allreduce_c : shim.native.allreduce_c)(send, receive, count, datatype,
                                                                                    operation, communicator);
}

EXPORT int MPI_Allreduce_c(const void* send, void* receive, int64_t count, strata_mpi_handle datatype,
                           strata_mpi_handle operation, strata_mpi_handle communicator) {
  resolve();
  if (shim.tool_allreduce_c != NULL)
    return shim.tool_allreduce_c(send, receive, count, datatype, operation, communicator);
  /* Tools for such an MPI library know MPI_Allreduce only. */
  if (shim.native.library != NULL && shim.native.allreduce_c == NULL && count == (int)count)
    return MPI_Allreduce(send, receive, (int)count, datatype, operation, communicator);
  return PMPI_Allreduce_c(send, receive, count, datatype, operation, communicator);
}

EXPORT int PMPI_Init(int* argc, char*** argv) {
  resolve();
  if (shim.native.init == NULL) return no_mpi_library;
  if (shim.module != NULL) shim.module->before_init();
  const int code = shim.native.init(argc, argv);
  if (shim.module != NULL) shim.module->after_init(code);
  return code;
}

EXPORT int MPI_Init(int* argc, char*** argv) {
  resolve();
  return shim.tool_init != NULL ? shim.tool_init(argc, argv) : PMPI_Init(argc, argv);
}

EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  resolve();
  if (shim.native.init_thread == NULL) return no_mpi_library;
  if (shim.module != NULL) shim.module->before_init();
  const int code = shim.native.init_thread(argc, argv, required, provided);
  if (shim.module != NULL) shim.module->after_init(code);
  return code;
}

EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  resolve();
  return shim.tool_init_thread != NULL ? shim.tool_init_thread(argc, argv, required, provided)
                                       : PMPI_Init_thread(argc, argv, required, provided);
}

EXPORT int PMPI_Finalize(void) {
  resolve();
  if (shim.native.finalize == NULL) return no_mpi_library;
  if (shim.module != NULL) shim.module->before_finalize();
  return shim.native.finalize();
}

EXPORT int MPI_Finalize(void) {
  resolve();
  return shim.tool_finalize != NULL ? shim.tool_finalize() : PMPI_Finalize();
}

EXPORT const struct strata_mpi_introspection* strata_mpi_introspect(void) {
  resolve();
  return shim.module != NULL ? shim.module->introspect() : NULL;
}
