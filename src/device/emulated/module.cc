// SPDX-License-Identifier: BSD-3-Clause
// The two entries of the module emulated.so, strata's and the test program's, and the one accelerator behind both.
#include "device/emulated/driver.h"
#include "device/emulated/program.h"

#include <sys/mman.h>

namespace strata::device {
namespace {

/// Never destroyed: the program may use its memory until it ends.
const std::shared_ptr<Accelerator>& accelerator() {
  static const auto& only = *[] {
    auto* const made = new std::shared_ptr<Accelerator>(std::make_shared<Accelerator>());
    (*made)->one_process = true;
    return made;
  }();
  return only;
}

void* allocate_at(Kind kind, int device, std::size_t bytes, void* at) {
  accelerator()->initialised.store(true, std::memory_order_release);
  const Origin origin = accelerator()->faults.pools ? Origin::pool_of_program : Origin::program;
  const auto made = accelerator()->memory.allocate(kind, device, bytes, origin, at);
  return made ? *made : nullptr;
}

void* allocate(emulated_kind kind, int device, std::size_t bytes) {
  return allocate_at(static_cast<Kind>(kind), device, bytes, nullptr);
}

void* allocate_pair(int device, std::size_t first_bytes, emulated_kind second_kind, int second_device,
                    std::size_t second_bytes) {
  constexpr int both = PROT_READ | PROT_WRITE;
  void* const room = ::mmap(nullptr, first_bytes + second_bytes, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  void* const first = allocate_at(Kind::device, device, first_bytes, room);
  void* second = static_cast<std::byte*>(room) + first_bytes;
  if (second_kind != emulated_host)
    second = allocate_at(static_cast<Kind>(second_kind), second_device, second_bytes, second);
  return second != nullptr ? first : nullptr;
}

int release(emulated_kind kind, void* memory) {
  return accelerator()->memory.free(memory, static_cast<Kind>(kind)) ? 0 : 1;
}

int copy(void* to, const void* from, std::size_t bytes) { return accelerator()->memory.copy(to, from, bytes) ? 0 : 1; }

Stream& stream_of(void* stream) { return *static_cast<Stream*>(stream); }

void* make_stream(int device) {
  accelerator()->initialised.store(true, std::memory_order_release);
  auto made = EmulatedDriver(accelerator()).make_stream(device);
  return made ? made->release() : nullptr;
}

void destroy_stream(void* stream) { delete static_cast<Stream*>(stream); }

int enqueue_copy(void* stream, void* to, const void* from, std::size_t bytes) {
  return stream_of(stream).copy(to, from, bytes) ? 0 : 1;
}

int synchronise(void* stream) { return stream_of(stream).synchronise() ? 0 : 1; }

unsigned long questions() { return accelerator()->questions.load(); }

static_assert(emulated_host == static_cast<int>(Kind::host) && emulated_pinned == static_cast<int>(Kind::pinned) &&
              emulated_managed == static_cast<int>(Kind::managed) && emulated_device == static_cast<int>(Kind::device));

} // namespace
} // namespace strata::device

#define STRATA_EXPORT extern "C" __attribute__((visibility("default")))

STRATA_EXPORT strata::device::Driver* strata_device_v1(const strata::Options* options, const std::string* faults,
                                                       std::string* why_not);
STRATA_EXPORT const strata_emulated_device* strata_emulated_device_v1();

strata::device::Driver* strata_device_v1(const strata::Options*, const std::string* faults, std::string* why_not) {
  using namespace strata::device;
  const auto parsed = parse_faults(*faults);
  if (!parsed) {
    *why_not = parsed.error().message;
    return nullptr;
  }
  accelerator()->faults = *parsed;
  return std::make_unique<EmulatedDriver>(accelerator()).release();
}

const strata_emulated_device* strata_emulated_device_v1() {
  using namespace strata::device;
  static const strata_emulated_device functions = {allocate,       allocate_pair, release,     copy,     make_stream,
                                                   destroy_stream, enqueue_copy,  synchronise, questions};
  return &functions;
}
