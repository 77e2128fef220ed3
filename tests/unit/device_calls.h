// SPDX-License-Identifier: BSD-3-Clause
// Calls with buffers in the memory of an emulated device, every rank with kinds of memory of its own.
#pragma once

#include "context_calls.h"
#include "device/emulated/driver.h"
#include "share.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

namespace strata::comm {

using device::Accelerator;
using device::Kind;
using type::Element;
using type::Operation;

/// Memory of any kind for a vector. Of a pool or a virtual mapping, say: no other process could map it.
class KindOfMemory {
public:
  /// `at`: where memory of that size was freed; null: anywhere.
  KindOfMemory(Accelerator& accelerator, Kind kind, std::int32_t device, std::size_t bytes, std::size_t offset,
               void* at = nullptr)
      : accelerator_(accelerator), kind_(kind), offset_(offset) {
    if (kind == Kind::host)
      host_.resize(bytes + offset);
    else
      begin_ = *accelerator.memory.allocate(
          kind, device, bytes + offset,
          accelerator.faults.pools ? device::Origin::pool_of_program : device::Origin::program, at);
  }
  ~KindOfMemory() {
    if (begin_ != nullptr) (void)accelerator_.memory.free(begin_, kind_);
  }
  KindOfMemory(const KindOfMemory&) = delete;
  KindOfMemory& operator=(const KindOfMemory&) = delete;
  std::byte* pointer() { return (begin_ != nullptr ? begin_ : host_.data()) + offset_; }
  Kind kind() const { return kind_; }
  std::byte* reach(std::size_t bytes) { return *accelerator_.memory.reach(pointer(), bytes); }

private:
  Accelerator& accelerator_;
  Kind kind_;
  std::size_t offset_;
  std::vector<std::byte> host_;
  std::byte* begin_ = nullptr;
};

inline constexpr Kind kinds[] = {Kind::device, Kind::host, Kind::managed, Kind::pinned};

struct DeviceCall : TestCall {
  unsigned salt = 1;      ///< of the values
  unsigned mixture = 0;   ///< of the kinds: rank and this decide
  std::size_t offset = 0; ///< elements before the vectors
  bool all_on_device = false;
};

/// One call with these buffers, of which one in place uses the second alone.
inline std::string fault_with(Context& context, KindOfMemory& send, KindOfMemory& receive, const DeviceCall& test) {
  const auto mine = vectors::contribution(test.element, test.operation, context.rank(), test.count, test.salt);
  std::memcpy((test.place == Place::same ? receive : send).reach(mine.size()), mine.data(), mine.size());
  Call call;
  call.input = test.place == Place::same ? receive.pointer() : send.pointer();
  call.output = receive.pointer();
  call.elements = test.count;
  call.element = test.element;
  call.operation = test.operation;
  if (context.all_reduce(call) != Outcome::done) return "not done: " + context.trouble() + "\n";
  const auto wanted = vectors::reduction(test.element, test.operation, context.ranks(), test.count, test.salt);
  const std::string fault = vectors::difference(wanted, receive.reach(mine.size()), type::bytes_of(test.element));
  if (fault.empty()) return {};
  return fmt::format("rank {}, {} {} {}, kinds {} {}: {}\n", context.rank(), test.count, type::name_of(test.element),
                     test.place == Place::same ? "in place" : "apart", static_cast<int>(send.kind()),
                     static_cast<int>(receive.kind()), fault);
}

inline std::string fault_of(Context& context, Accelerator& accelerator, const DeviceCall& test) {
  const unsigned pick = static_cast<unsigned>(context.rank()) * 5 + test.mixture;
  const Kind send_kind = test.all_on_device ? Kind::device : kinds[pick % 4];
  const Kind receive_kind = test.all_on_device ? Kind::device : kinds[pick / 4 % 4];
  const std::size_t element_bytes = type::bytes_of(test.element), offset = test.offset * element_bytes;
  const std::size_t bytes = static_cast<std::size_t>(test.count) * element_bytes;
  KindOfMemory send(accelerator, send_kind, 0, bytes, offset);
  KindOfMemory receive(accelerator, receive_kind, accelerator.faults.devices - 1, bytes, offset);
  return fault_with(context, send, receive, test);
}

/// A job whose ranks share one accelerator.
class DeviceJob {
public:
  template <typename Driver = device::EmulatedDriver>
  void give_devices(ThreadJob& job) {
    accelerator->initialised = true;
    for (int rank = 0; rank < job.ranks(); ++rank)
      job.process(rank).use_device(std::make_unique<Driver>(accelerator));
  }
  std::string run(ThreadJob& job, const std::vector<DeviceCall>& calls) {
    Faults faults(job.ranks());
    job.run_in_context([&](Context& context) {
      for (const DeviceCall& call : calls)
        faults.add(context, fault_of(context, *accelerator, call));
    });
    return faults.text();
  }
  std::shared_ptr<Accelerator> accelerator = std::make_shared<Accelerator>();
};

inline std::vector<DeviceCall> mixtures(std::initializer_list<std::int64_t> counts) {
  std::vector<DeviceCall> calls;
  unsigned salt = 0;
  Share share;
  for (const std::int64_t count : counts)
    for (const Place place : {Place::apart, Place::same})
      for (unsigned mixture = 0; mixture < 16; mixture += 3)
        if (share.takes_next())
          calls.push_back({{count, Element::float32, Operation::sum, place}, ++salt, mixture, mixture % 2});
  return calls;
}

/// Counts how often somebody asks what memory a pointer is in.
template <typename Driver>
struct AskedDriver : Driver {
  using Driver::Driver;
  std::atomic<int> questions{0};
  Result<device::Memory> memory_of(const void* pointer) override {
    ++questions;
    return Driver::memory_of(pointer);
  }
  /// Since this was asked last, of a rank's driver.
  static int of(ThreadJob& job, int rank) {
    return static_cast<AskedDriver&>(job.process(rank).device()->driver()).questions.exchange(0);
  }
};

/// In every call one question for each buffer; and as many more before a size is decided, while no device was seen.
template <typename Driver>
void expect_one_question_per_buffer(ThreadJob& job, const DeviceCall& same, const DeviceCall& apart) {
  using Asked = AskedDriver<Driver>;
  DeviceJob device;
  device.give_devices<Asked>(job);
  EXPECT_EQ(device.run(job, {same}), "");
  EXPECT_EQ(Asked::of(job, 0), 1 + 1);
  EXPECT_EQ(device.run(job, {same, same, same}), "");
  EXPECT_EQ(Asked::of(job, 0), 1 + 3);
  EXPECT_EQ(device.run(job, {apart, apart, apart}), "");
  EXPECT_EQ(Asked::of(job, 0), 2 + 3 * 2);
}

/// As if no call waited for its copies.
struct ImpatientDriver : device::EmulatedDriver {
  using EmulatedDriver::EmulatedDriver;
  struct Reached : device::Event {
    Result<bool> reached() override { return true; }
  };
  struct Unmarked : device::Stream {
    explicit Unmarked(std::unique_ptr<Stream> real) : real_(std::move(real)) {}
    Status copy(void* to, const void* from, std::size_t bytes) override { return real_->copy(to, from, bytes); }
    Status reduce(Element, Operation, void*, std::span<const void* const>, std::size_t) override { return ok(); }
    Status record(device::Event&) override { return ok(); }
    Status wait_for(device::Event&) override { return ok(); }
    Status set_word(std::uint32_t* word, std::uint32_t value) override { return real_->set_word(word, value); }
    Status wait_for_word(const std::uint32_t* word, std::uint32_t value) override {
      return real_->wait_for_word(word, value);
    }
    Status synchronise() override { return real_->synchronise(); }
    std::unique_ptr<Stream> real_;
  };
  Result<std::unique_ptr<device::Stream>> make_stream(std::int32_t device) override {
    auto real = EmulatedDriver::make_stream(device);
    return std::unique_ptr<device::Stream>(std::make_unique<Unmarked>(std::move(*real)));
  }
  Result<std::unique_ptr<device::Event>> make_event(std::int32_t) override {
    return std::unique_ptr<device::Event>(std::make_unique<Reached>());
  }
};

} // namespace strata::comm
