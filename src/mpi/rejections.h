// SPDX-License-Identifier: BSD-3-Clause
// What this MPI library rejects before it sends anything: what a program passes of that is the library's, on all ranks,
// so that it says so itself.
#pragma once

#include "mpi/native.h"

namespace strata::mpi {

/// The rare part of rejects_buffers().
bool rejects_equal_buffers(State& state, std::int64_t count);

/// Whether it rejects these buffers. With no buffer, or with MPI_IN_PLACE for the result, any MPI library says so or
/// crashes. Equal buffers, which MPI forbids (MPI 4.0, 6.2.3), some accept: then one rank may have them and another
/// not, and strata is to accept them too. That is found out, on a communicator of this rank alone, when a program first
/// passes them, and not before: there are libraries that end the process at an error, whatever handler they are given.
/// Any thread.
inline bool rejects_buffers(State& state, const Arguments& given) {
  if (given.send == nullptr || given.receive == nullptr || given.receive == MPI_IN_PLACE) return true;
  return given.send == given.receive && rejects_equal_buffers(state, given.count);
}

} // namespace strata::mpi
