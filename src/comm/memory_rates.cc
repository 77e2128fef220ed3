// SPDX-License-Identifier: BSD-3-Clause
#include "comm/memory_rates.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>

namespace strata::comm {
namespace {

/// Three of them fit into the second-level caches of common cores.
constexpr std::size_t cached_bytes = std::size_t{64} << 10;
constexpr std::size_t least_uncached = std::size_t{2} << 20, most_uncached = std::size_t{16} << 20;
constexpr double seconds_each = 4e-3; ///< of the thread, and several times that by the clock where a core is shared
constexpr double most_seconds_each = 20e-3;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Freed {
  void operator()(float* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<float, Freed>;

Buffer buffer_of(std::size_t bytes) {
  Buffer buffer(static_cast<float*>(std::aligned_alloc(4096, bytes)));
  if (buffer) std::fill_n(buffer.get(), bytes / sizeof(float), 1.0F); // pages are there before the clock runs
  return buffer;
}

/// Bytes per second of the thread, of work on `bytes` that is repeated; at best, because others only make it slower.
template <typename Work>
double best_rate(std::size_t bytes, const Work& work) {
  work(); // warms the caches up
  const auto begun = std::chrono::steady_clock::now();
  const double start = thread_seconds();
  double best = 0;
  for (double before = start; before - start < seconds_each;) {
    constexpr std::size_t least_batch = std::size_t{1} << 20; // the clock of the thread is a call of the system
    std::size_t done = 0;
    for (; done < least_batch; done += bytes)
      work();
    const double now = thread_seconds();
    if (now > before) best = std::max(best, static_cast<double>(done) / (now - before));
    before = now;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() > most_seconds_each) break;
  }
  return best;
}

tune::RatesOfCore rates_of(const kernel::Kernels& kernels, std::size_t bytes) {
  const Buffer one = buffer_of(bytes), other = buffer_of(bytes), out = buffer_of(bytes);
  if (!one || !other || !out) return {};
  const kernel::ReduceFunction sum = kernels.find(type::Element::float32, type::Operation::sum);
  const void* const inputs[] = {one.get(), other.get()};
  tune::RatesOfCore rates;
  rates.copy = best_rate(bytes, [&] { std::memcpy(out.get(), one.get(), bytes); });
  rates.reduce = best_rate(
      bytes, [&] { sum(out.get(), inputs, std::size(inputs), bytes / sizeof(float), kernel::Store::cached, nullptr); });
  return rates;
}

} // namespace

tune::Probe::MemorySample measure_memory(const kernel::Kernels& kernels, std::uint64_t cache_share) {
  const auto begun = std::chrono::steady_clock::now();
  // The two of a copy are twice the cache.
  const std::size_t uncached = std::clamp<std::size_t>(cache_share, least_uncached, most_uncached);
  tune::Probe::MemorySample sample;
  sample.cache = rates_of(kernels, cached_bytes);
  sample.memory = rates_of(kernels, uncached / 4096 * 4096);
  sample.cache_share = static_cast<double>(cache_share);
  sample.elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return sample;
}

} // namespace strata::comm
