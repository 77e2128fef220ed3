// SPDX-License-Identifier: BSD-3-Clause
// A program that knows nothing of MPI, and opens a plugin that does, with local scope, as an interpreter does.
//
//     opener PLUGIN FUNCTION [argument...]       FUNCTION is called like a main
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*function)(int, char**) = NULL;
  if (plugin != NULL) *(void**)&function = dlsym(plugin, argv[2]);
  if (function == NULL) {
    const char* reason = dlerror();
    fprintf(stderr, "opener: %s\n", reason != NULL ? reason : "no plugin and function were named");
    return 2;
  }
  return function(argc - 2, argv + 2);
}
