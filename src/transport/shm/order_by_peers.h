// SPDX-License-Identifier: BSD-3-Clause
// For ThreadSanitizer, which sees one process alone. What a thread here writes last into a block of a peer may lie
// where another thread finds one that the peer has leased anew: the peer, which waited for the first and announced the
// second, has put them in order.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define STRATA_THREADS_ARE_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRATA_THREADS_ARE_CHECKED 1
#endif
#endif

#ifdef STRATA_THREADS_ARE_CHECKED
#include <sanitizer/tsan_interface.h>
#endif

namespace strata::transport::shm {

#ifdef STRATA_THREADS_ARE_CHECKED
inline constexpr char order_of_blocks = 0; // one for all of them; its address is what counts
inline void blocks_are_left() { __tsan_release(const_cast<char*>(&order_of_blocks)); }
inline void blocks_are_announced() { __tsan_acquire(const_cast<char*>(&order_of_blocks)); }
#else
inline void blocks_are_left() {}
inline void blocks_are_announced() {}
#endif

} // namespace strata::transport::shm
