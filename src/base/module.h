// SPDX-License-Identifier: BSD-3-Clause
// Modules: shared objects with what only some runs need (hwloc, UCX, kernels, an MPI library), opened on first use.
#pragma once

#include "base/options.h"

#include <string>
#include <vector>

namespace strata {

/// Finds `symbol` in the module `module` ("hwloc" for hwloc.so), and opens it first if need be. A module stays open
/// until the process ends, and its names reach nobody else.
/// \return the address, or an Error that names the file, or the folders that were searched, and the loader's reason.
Result<void*> open_module_symbol(const Options& options, const char* module, const char* symbol);

/// Where modules are searched, the first with such a file counts: MODULE_PATH alone when it is set. Else strata/ beside
/// the object that holds this code, or its own folder if that is called strata; for a program in bin/ then also
/// ../lib/strata and ../lib64/strata.
std::vector<std::string> module_folders(const Options& options);

/// The same for code that lies in the file `object`.
std::vector<std::string> module_folders_beside(const std::string& object);

} // namespace strata
