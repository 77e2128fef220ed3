// SPDX-License-Identifier: BSD-3-Clause
// n-ary reductions and copies in memory of the host. The implementation is a module of its own (Highway, one code
// path per instruction set, chosen at run time); this header is all that the engine sees of it.
#pragma once

#include "type/type.h"

#include <cstddef>
#include <span>

namespace strata::kernel {

/// How results are written: through the caches, or around them (for vectors that no cache can keep). Demoted: through
/// them, and what was written is then moved on from the core's own caches to one that cores share, where a peer on
/// another core finds it sooner; whoever publishes does that, and kernels take it as cached. Shared: through them, into
/// lines that a peer on another core has read since they were written last, so that they are taken from it ahead of the
/// writing; it is for copies, and reductions take it as cached.
enum class Store { cached, streaming, demoted, shared };

/// Fewer bytes than these are copied as cached where shared is asked for.
inline constexpr std::size_t least_shared = 2048;

/// How a payload is copied to where peers read it, by Stores::publish.
constexpr Store store_to_publish(Store publish) { return publish == Store::cached ? Store::shared : publish; }

/// How a call stores what its peers will read, and its own results. It changes no bit of them.
struct Stores {
  Store publish = Store::cached;
  Store result = Store::cached;
  bool operator==(const Stores&) const = default;
};

/// What CopyFunction is to do.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  Store store = Store::cached;
};

/// What a reduction does for its caller's next one. A core that reduces waits for its stores and for its peers' caches,
/// one that publishes waits for lines to come back from its peers, and both waits are one where both go on together.
struct Beside {
  /// When the reduction returns, all of it has been copied. No `to` may overlap what the reduction reads or writes, or
  /// another copy, nor a `from` what the reduction writes.
  std::span<const Copy> copies;
  /// Null, or where the results are written a second time, for peers to read, by `also_store`. Likewise.
  void* also = nullptr;
  Store also_store = Store::shared;
  /// Null, or where the caller reads next, after all that it reads here: as many bytes from there as a vector of the
  /// reduction has are fetched towards its core meanwhile. A hint: it changes no bit, and the memory may end before
  /// that. Kernels may do without, and do where they store through the caches.
  const void* fetch = nullptr;
};

/// Reduces `count` elements of each of `inputs` >= 1 vectors into `out`, in one pass:
///   out[i] = ((in[0][i] op in[1][i]) op in[2][i]) op …
/// Always in this order and association, so equal inputs give equal bits on every rank, whatever the count, the
/// alignment, the instruction set and the Store. float16 and bfloat16 accumulate in float32 and round once.
/// What MPI leaves open, with a for what was accumulated so far and b for the next operand:
///   - integers wrap; logical operations give 0 or 1; one input is copied as it is;
///   - minimum is a < b ? a : b and maximum a > b ? a : b, as in Open MPI: with a NaN, or with zeros of both signs,
///     the result is b (so a NaN in front of a number is lost);
///   - a sum or product with a NaN is a if a is a NaN, else b, its payload kept and made quiet; one of numbers that
///     has no value (infinity minus infinity, zero times infinity) is the quiet NaN of x86: sign set, no payload.
/// `out` may be exactly one of the inputs, but must not overlap one otherwise. Any alignment that the element type
/// itself allows. After streaming stores a store fence has been executed when the function returns.
/// `beside`: null, or what is done meanwhile.
using ReduceFunction = void (*)(void* out, const void* const* in, std::size_t inputs, std::size_t count, Store store,
                                const Beside* beside);

/// A bound reduction: what the engine calls for a Reduce step.
struct Reducer {
  ReduceFunction function = nullptr;
  std::size_t element_bytes = 0;
};

/// Copies `bytes`; the ranges must not overlap (equal ranges are allowed and do nothing).
using CopyFunction = void (*)(void* to, const void* from, std::size_t bytes, Store store);

/// What the kernel module offers. Immutable once made; safe to use from all threads.
struct Kernels {
  const char* instruction_set; ///< Highway's name of what was chosen here, such as "AVX2"; "scalar" for the oracle.
  CopyFunction copy;
  /// Null where MPI does not define the operation for the type.
  ReduceFunction reduce[type::element_kinds][type::operation_kinds];

  ReduceFunction find(type::Element element, type::Operation operation) const {
    return reduce[static_cast<std::size_t>(element)][static_cast<std::size_t>(operation)];
  }
};

/// The vectorised kernels for this processor (module kernel.so; symbol of the module: strata_kernels_v3).
const Kernels& vectorised();

/// Plain loops: the oracle of the tests, and what the library uses where the kernel module cannot be opened.
const Kernels& scalar();

} // namespace strata::kernel
