/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "mpi/shim/locate.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An address in this very object. */
static const char here = 0;

/* The symbol if `object` itself defines it: dlsym on a handle also searches what the object depends on. */
static void* own_symbol(void* handle, const char* object, const char* name) {
  void* symbol = dlsym(handle, name);
  Dl_info info, own;
  if (symbol == NULL || dladdr(symbol, &info) == 0 || dladdr(&here, &own) == 0) return NULL;
  if (info.dli_fbase == own.dli_fbase || strcmp(info.dli_fname, object) != 0) return NULL;
  return symbol;
}

/* The paths of all loaded objects. They are looked at after dl_iterate_phdr has returned: it holds a lock of the loader
 * that dlopen would take in another order. */
struct object_list {
  char** paths;
  size_t count;
};

static int add_object(struct dl_phdr_info* object, size_t bytes, void* state) {
  struct object_list* list = state;
  (void)bytes;
  if (object->dlpi_name == NULL || *object->dlpi_name == '\0') return 0;
  char** longer = realloc(list->paths, (list->count + 1) * sizeof *longer);
  if (longer == NULL) return 1;
  list->paths = longer;
  list->paths[list->count] = strdup(object->dlpi_name);
  return list->paths[list->count++] == NULL;
}

static int is_mpi_library(const char* path, struct strata_mpi_native* native) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return 0;
  if (own_symbol(handle, path, "PMPI_Get_library_version") != NULL) {
    *(void**)&native->allreduce = own_symbol(handle, path, "PMPI_Allreduce");
    *(void**)&native->allreduce_c = own_symbol(handle, path, "PMPI_Allreduce_c");
    *(void**)&native->init = own_symbol(handle, path, "PMPI_Init");
    *(void**)&native->init_thread = own_symbol(handle, path, "PMPI_Init_thread");
    *(void**)&native->finalize = own_symbol(handle, path, "PMPI_Finalize");
    if (native->allreduce != NULL) native->library = strdup(path);
  }
  dlclose(handle); /* only undoes the count of this dlopen */
  return native->library != NULL;
}

int strata_shim_find_mpi(struct strata_mpi_native* native) {
  struct object_list list = {NULL, 0};
  memset(native, 0, sizeof *native);
  (void)dl_iterate_phdr(add_object, &list);
  for (size_t i = 0; i < list.count; ++i) {
    if (list.paths[i] != NULL && native->library == NULL) (void)is_mpi_library(list.paths[i], native);
    free(list.paths[i]);
  }
  free(list.paths);
  return native->library != NULL ? 0 : -1;
}

void* strata_shim_find_native(const char* name, const char* mpi_library) {
  void* handle = dlopen(mpi_library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return NULL;
  void* symbol = own_symbol(handle, mpi_library, name);
  dlclose(handle); /* only undoes the count of this dlopen */
  return symbol;
}

void* strata_shim_find_tool(const char* name, const char* mpi_library) {
  void* symbol = dlsym(RTLD_NEXT, name);
  Dl_info info;
  if (symbol == NULL || dladdr(symbol, &info) == 0) return NULL;
  return strcmp(info.dli_fname, mpi_library) == 0 ? NULL : symbol;
}

/* The soname that the object at `path` gives itself, from its dynamic section; else the file's name. */
static void soname_of(const char* path, char* name, size_t room) {
  struct link_map* map = NULL;
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  const char* slash = strrchr(path, '/');
  snprintf(name, room, "%s", slash != NULL ? slash + 1 : path);
  if (handle == NULL) return;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
    const char* strings = NULL;
    ElfW(Xword) offset = 0;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) strings = (const char*)entry->d_un.d_ptr;
      if (entry->d_tag == DT_SONAME) offset = entry->d_un.d_val;
    }
    /* glibc leaves the address as the file has it where the section is read-only: on RISC-V and MIPS. */
    if (strings != NULL && (uintptr_t)strings < map->l_addr) strings += map->l_addr;
    if (strings != NULL && offset != 0) snprintf(name, room, "%s", strings + offset);
  }
  dlclose(handle);
}

int strata_shim_module_path(const char* mpi_library, char* path, size_t room) {
  char soname[256];
  soname_of(mpi_library, soname, sizeof soname);
  const char* folder = secure_getenv("STRATA_MODULE_PATH");
  int bytes;
  if (folder != NULL && *folder != '\0') {
    bytes = snprintf(path, room, "%s/mpi-%s.so", folder, soname);
  } else {
    Dl_info own;
    if (dladdr(&here, &own) == 0 || own.dli_fname == NULL) return -1;
    const char* slash = strrchr(own.dli_fname, '/');
    const int length = slash != NULL ? (int)(slash - own.dli_fname) : 1;
    bytes = snprintf(path, room, "%.*s/strata/mpi-%s.so", length, slash != NULL ? own.dli_fname : ".", soname);
  }
  return bytes > 0 && (size_t)bytes < room ? 0 : -1;
}
