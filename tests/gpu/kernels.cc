// SPDX-License-Identifier: BSD-3-Clause
// On a machine with a GPU: the module cuda.so by itself. Reduces vectors of all types by all operations in device
// memory and compares them with the plain loops, bit for bit; then says how fast a reduction is beside a copy of the
// device's memory, which moves the same bytes and is the bound. Needs the driver and the build, no toolkit. Exits with
// 77 where there is no GPU. `kernels brief` takes short vectors only, for tools under which it runs slowly.
#include "device/driver.h"
#include "device/loader.h"
#include "kernel/kernel.h"
#include "samples.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace strata::device {
namespace {

using kernel::Element;
using kernel::Operation;

constexpr std::uint32_t seed = 20260609;
constexpr std::size_t margin = 64; ///< bytes around a vector, for offsets
constexpr int skipped = 77;
constexpr int most_told = 10; ///< failures

enum class Extent : bool { brief, full };

constexpr int no_device = 100; // CUDA_ERROR_NO_DEVICE

/// Does what a program does that uses CUDA. What cuInit says; where there is no driver, as where there is no device.
int start_cuda() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return no_device;
  const auto initialise = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  return initialise == nullptr ? -1 : initialise(0);
}

int failed(const std::string& why) {
  std::printf("FAILED: %s\n", why.c_str());
  return 1;
}

class Gpu {
public:
  static constexpr std::size_t most_bytes = std::size_t{64} << 20; ///< of one vector
  static constexpr std::size_t vectors = 4;                        ///< the last one is the result

  Status open(Driver& driver) {
    auto stream = driver.make_stream(0);
    if (!stream) return stream.error();
    stream_ = std::move(*stream);
    const auto pinned = driver.allocate_pinned(most_bytes);
    if (!pinned) return pinned.error();
    pinned_ = static_cast<std::byte*>(*pinned);
    for (std::byte*& vector : device_) {
      const auto memory = driver.allocate(0, most_bytes + 2 * margin);
      if (!memory) return memory.error();
      vector = static_cast<std::byte*>(*memory) + margin;
    }
    return ok();
  }
  Stream& stream() { return *stream_; }
  std::byte* vector(std::size_t i) { return device_[i]; }

  Status write(std::byte* to, const std::vector<std::byte>& from) {
    std::copy(from.begin(), from.end(), pinned_);
    if (const Status copied = stream_->copy(to, pinned_, from.size()); !copied) return copied;
    return stream_->synchronise();
  }
  Status read(std::vector<std::byte>& to, const std::byte* from) {
    if (const Status copied = stream_->copy(pinned_, from, to.size()); !copied) return copied;
    if (const Status done = stream_->synchronise(); !done) return done;
    std::copy_n(pinned_, to.size(), to.begin());
    return ok();
  }

private:
  std::unique_ptr<Stream> stream_;
  std::byte* pinned_ = nullptr;
  std::byte* device_[vectors] = {};
};

struct Case {
  Element element;
  Operation operation;
  std::size_t count;
  std::size_t inputs;
  bool alike;    ///< all vectors at the same place within 16 bytes
  bool in_place; ///< into the first
};

/// Whether the GPU's bits are those of the plain loops.
Result<bool> agrees(Gpu& gpu, const Case& test, std::mt19937_64& random) {
  const std::size_t size = bytes_of(test.element), common = random() % (16 / size) * size;
  const auto place = [&](std::size_t i) {
    return gpu.vector(i) + (test.alike ? common : random() % (16 / size) * size);
  };
  std::vector<std::vector<std::byte>> operands;
  std::vector<const void*> here, there;
  for (std::size_t i = 0; i < test.inputs; ++i) {
    std::byte* const at = place(i);
    operands.push_back(draw_many(test.element, kernel::Sample::rare_specials, test.count, random));
    if (const Status written = gpu.write(at, operands.back()); !written) return written.error();
    there.push_back(at);
  }
  for (const auto& operand : operands)
    here.push_back(operand.data());
  std::vector<std::byte> expected(test.count * size), result(expected.size());
  kernel::scalar().find(test.element, test.operation)(expected.data(), here.data(), here.size(), test.count,
                                                      kernel::Store::cached, nullptr);
  void* const out = test.in_place ? const_cast<void*>(there[0]) : place(Gpu::vectors - 1);
  if (const Status reduced = gpu.stream().reduce(test.element, test.operation, out, there, test.count); !reduced)
    return reduced.error();
  if (const Status got = gpu.read(result, static_cast<const std::byte*>(out)); !got) return got.error();
  return result == expected;
}

/// How many cases failed; the first are told.
int compare_all(Gpu& gpu, Extent extent) {
  std::mt19937_64 random(seed);
  int cases = 0, failures = 0;
  for (std::size_t e = 0; e < type::element_kinds; ++e)
    for (std::size_t o = 0; o < type::operation_kinds; ++o)
      for (const unsigned count : {1u, 3u, 17u, 1000u, 4097u, 300001u})
        for (const unsigned inputs : {2u, 3u})
          for (const bool alike : {true, false}) {
            const Case test{static_cast<Element>(e), static_cast<Operation>(o), count, inputs, alike, count % 2 == 0};
            if (!type::is_defined(test.element, test.operation)) continue;
            // Where a thread has several packs, which it takes does not depend on the operation.
            if (count > 10000 && (extent == Extent::brief || test.operation != Operation::sum)) continue;
            const auto same = agrees(gpu, test, random);
            ++cases;
            if (same && *same) continue;
            if (++failures > most_told) continue;
            std::printf("FAILED: %s of %u vectors of %u %s%s: %s\n", std::string(name_of(test.operation)).c_str(),
                        inputs, count, std::string(name_of(test.element)).c_str(), alike ? "" : ", not aligned alike",
                        same ? "other bits than the plain loops" : same.error().message.c_str());
          }
  std::printf("%d of %d reductions have the bits of the plain loops (seed %u)\n", cases - failures, cases, seed);
  return failures;
}

/// Bytes read and written per second by what `enqueue` puts into the stream; the median of some runs.
template <class Enqueue>
double bytes_per_second(Gpu& gpu, std::size_t bytes, Enqueue enqueue) {
  constexpr int launches = 20;
  std::vector<double> rates;
  for (int run = 0; run < 7; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    for (int launch = 0; launch < launches; ++launch)
      if (!enqueue()) return 0;
    if (!gpu.stream().synchronise()) return 0;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    rates.push_back(static_cast<double>(bytes * launches) / taken.count());
  }
  std::nth_element(rates.begin(), rates.begin() + 3, rates.end());
  return rates[3];
}

/// What no call of a few bytes on a device undercuts: one kernel is started and waited for. The median, in seconds.
double launch_and_wait(Gpu& gpu) {
  std::vector<double> taken;
  const void* const from[] = {gpu.vector(0), gpu.vector(1)};
  for (int run = 0; run < 1001; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    if (!gpu.stream().reduce(Element::float32, Operation::sum, gpu.vector(3), from, 2)) return 0;
    if (!gpu.stream().synchronise()) return 0;
    taken.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(taken.begin(), taken.begin() + 500, taken.end());
  return taken[500];
}

void measure(Gpu& gpu) {
  std::printf("\nsum of 2 vectors of 8 bytes, started and waited for: %.1f us\n", launch_and_wait(gpu) * 1e6);
  constexpr std::size_t bytes = Gpu::most_bytes;
  const double copy =
      bytes_per_second(gpu, 2 * bytes, [&] { return gpu.stream().copy(gpu.vector(3), gpu.vector(0), bytes); });
  std::printf("\n64 MiB vectors, GB/s read and written        of a copy\n%-40s %8.0f\n", "copy", copy / 1e9);
  const void* const from[] = {gpu.vector(0), gpu.vector(1), gpu.vector(2)};
  for (const Element element : {Element::float32, Element::float64, Element::float16, Element::bfloat16, Element::int8})
    for (const unsigned inputs : {2u, 3u}) {
      const double rate = bytes_per_second(gpu, (inputs + 1) * bytes, [&] {
        return gpu.stream().reduce(element, Operation::sum, gpu.vector(3), {from, inputs}, bytes / bytes_of(element));
      });
      const std::string row = "sum of " + std::to_string(inputs) + " vectors of " + std::string(name_of(element));
      std::printf("%-40s %8.0f  %7.2f\n", row.c_str(), rate / 1e9, copy > 0 ? rate / copy : 0);
    }
}

int check(Extent extent) {
  Options options;
  options.module_path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../../lib/strata";
  const int code = start_cuda();
  const auto driver = open_driver(options);
  if (code == 0 && !driver) return failed(driver.error().message);
  if (code == 0 && !(*driver)->initialised()) return failed((*driver)->why_blind());
  if (code == no_device || (code == 0 && (*driver)->devices() == 0)) {
    std::printf("no GPU here: there is no driver, or it has no device\n");
    return skipped;
  }
  if (code != 0) return failed("cuInit says " + std::to_string(code));
  for (std::int32_t device = 0; device < (*driver)->devices(); ++device)
    if (const auto facts = (*driver)->facts(device))
      std::printf("device %d: %s at %s, %zu MiB\n", device, facts->name.c_str(), facts->pci_address.c_str(),
                  facts->bytes >> 20);
  Gpu gpu;
  if (const Status opened = gpu.open(**driver); !opened) return failed(opened.error().message);
  if (compare_all(gpu, extent) != 0) return 1;
  if (extent == Extent::full) measure(gpu);
  return 0;
}

} // namespace
} // namespace strata::device

int main(int count, char** arguments) {
  using strata::device::Extent;
  return strata::device::check(count > 1 && std::string(arguments[1]) == "brief" ? Extent::brief : Extent::full);
}
