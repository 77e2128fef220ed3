// SPDX-License-Identifier: BSD-3-Clause
// Calls in streams of the program, on the emulated device, whose streams run nothing before somebody waits for it; and
// the mutations that show what such a test sees.
#include "comm/stream_calls.h"

#include "device/word.h"
#include "device_calls.h"
#include "sharing_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace strata::comm {
namespace {

StreamCalls::Run run_in(Context& context) {
  return [&context](const Call& call) -> Status {
    if (context.all_reduce(call) == Outcome::done) return ok();
    return Error{ErrorKind::peer, context.trouble()};
  };
}

/// One rank's vectors in device memory, and copies of them in the host's.
class Vectors {
public:
  Vectors(Accelerator& accelerator, const Context& context, std::int64_t count, unsigned salt)
      : mine_(vectors::contribution(Element::int32, Operation::sum, context.rank(), count, salt)),
        wanted_(vectors::reduction(Element::int32, Operation::sum, context.ranks(), count, salt)), seen_(mine_.size()),
        send_(accelerator, Kind::device, 0, mine_.size(), 0), receive_(accelerator, Kind::device, 0, mine_.size(), 0) {
    call_.input = send_.pointer();
    call_.output = receive_.pointer();
    call_.elements = count;
    call_.element = Element::int32;
    call_.operation = Operation::sum;
  }
  const Call& call() const { return call_; }
  Status fill(device::Stream& stream) { return stream.copy(send_.pointer(), mine_.data(), mine_.size()); }
  Status fetch(device::Stream& stream) { return stream.copy(seen_.data(), receive_.pointer(), seen_.size()); }
  /// Empty, or how what was fetched differs.
  std::string fault() const { return vectors::difference(wanted_, seen_.data(), sizeof(std::int32_t)); }

private:
  std::vector<std::byte> mine_, wanted_, seen_;
  KindOfMemory send_, receive_;
  Call call_;
};

/// The program of one rank: what it puts into its streams, one call after the other, and waits at the end only.
std::string fault_of_rank(Context& context, Device& device, Accelerator& accelerator, int streams) {
  std::vector<std::unique_ptr<device::Stream>> programs;
  for (int i = 0; i < streams; ++i)
    programs.push_back(std::move(*device.driver().make_stream(0)));
  std::vector<std::unique_ptr<Vectors>> all;
  StreamCalls calls(device, run_in(context));
  unsigned salt = 0;
  for (const std::int64_t count : {1000, 1, 70001, 1000, 70001, 5}) {
    device::Stream& program = *programs[salt % programs.size()];
    Vectors& one = *all.emplace_back(std::make_unique<Vectors>(accelerator, context, count, ++salt));
    if (!one.fill(program) || !calls.enqueue(one.call(), &program) || !one.fetch(program)) return "not enqueued\n";
  }
  for (const auto& program : programs)
    if (!program->synchronise()) return "the stream failed\n";
  std::string faults;
  for (const auto& one : all)
    if (const std::string fault = one->fault(); !fault.empty())
      faults += fmt::format("rank {}, {} elements: {}\n", context.rank(), one->call().elements, fault);
  const Status state = calls.state();
  return faults + (state ? "" : state.error().message + "\n");
}

/// Where `by_path` is not null, the calls of all ranks by path are added there.
template <typename Driver = device::EmulatedDriver>
std::string run(int ranks, int streams, const Options& options = ThreadJob::options_for_tests(),
                std::map<std::string, Tally>* by_path = nullptr) {
  ThreadJob job(ranks, options);
  DeviceJob device;
  device.give_devices<Driver>(job);
  Faults faults(ranks);
  job.run_in_context([&](Context& context) {
    faults.add(context, fault_of_rank(context, *job.process(context.rank()).device(), *device.accelerator, streams));
  });
  for (int rank = 0; by_path != nullptr && rank < ranks; ++rank)
    for (const auto& [path, tally] : job.process(rank).device()->tallies())
      (*by_path)[path] += tally;
  return faults.text();
}

TEST(StreamCalls, AreRightBetweenWhatTheProgramPutsAroundThem) {
  for (const int ranks : {2, 3})
    EXPECT_EQ(run(ranks, 1), "") << ranks;
}

TEST(StreamCalls, AreRightInSeveralStreams) { EXPECT_EQ(run(2, 3), ""); }

/// The paths that calls of two ranks take, which map each other's slots where they may.
std::string paths_of(const char* algorithm, DevicePeer peer) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = algorithm;
  options.device_peer = peer;
  std::map<std::string, Tally> by_path;
  EXPECT_EQ(run<device::SharingDriver>(2, 1, options, &by_path), "") << algorithm;
  std::string paths;
  for (const auto& [path, tally] : by_path)
    paths += fmt::format("{} {};", path, tally.calls);
  return paths;
}

TEST(StreamCalls, AreRightOnTheDeviceAndThroughTheHost) {
  // Six calls of each of the two ranks.
  for (const char* algorithm : {"direct", "ring"}) {
    EXPECT_EQ(paths_of(algorithm, DevicePeer::automatic), "peer 12;") << algorithm;
    EXPECT_EQ(paths_of(algorithm, DevicePeer::off), "staged 12;") << algorithm;
  }
  EXPECT_EQ(paths_of("board", DevicePeer::automatic), "staged 12;") << "the board is in the host's memory";
}

// ---- the order of things ----------------------------------------------------------------------------------------

/// What a test does on a rank with its device, a stream and the calls.
struct Rank {
  Context& context;
  Device& device;
  Accelerator& accelerator;
  device::Stream& program;
  StreamCalls& calls;
};

template <typename Driver = device::EmulatedDriver, typename Body>
std::string on_two_ranks(const Body& body, const char* trouble = "") {
  ThreadJob job(2);
  DeviceJob device;
  device.accelerator->faults = *device::parse_faults(trouble);
  device.give_devices<Driver>(job);
  Faults faults(2);
  job.run_in_context([&](Context& context) {
    Device& own = *job.process(context.rank()).device();
    const auto program = std::move(*own.driver().make_stream(0));
    StreamCalls calls(own, run_in(context));
    faults.add(context, body(Rank{context, own, *device.accelerator, *program, calls}));
  });
  return faults.text();
}

/// Says on which devices reductions were prepared.
struct PreparedDriver : device::EmulatedDriver {
  using EmulatedDriver::EmulatedDriver;
  Status prepare_reduction(std::int32_t device, const void*, Element, Operation) override {
    prepared.insert(device);
    return ok();
  }
  std::set<std::int32_t> prepared;
};

TEST(StreamCalls, ArePreparedOnEveryDeviceThatMayHaveSlots) {
  const auto body = [](Rank rank) -> std::string {
    KindOfMemory before(rank.accelerator, Kind::device, 2, 400, 0); // a plan's slots are there from now on
    const Call blocking{before.pointer(), before.pointer(), 100, Element::int32, Operation::sum};
    if (rank.context.all_reduce(blocking) != Outcome::done) return "not done\n";
    Vectors vectors(rank.accelerator, rank.context, 100, 1);
    if (!vectors.fill(rank.program) || !rank.calls.enqueue(vectors.call(), &rank.program)) return "not enqueued\n";
    if (!vectors.fetch(rank.program) || !rank.program.synchronise()) return "not fetched\n";
    const auto& prepared = static_cast<PreparedDriver&>(rank.device.driver()).prepared;
    return vectors.fault() + (prepared == std::set<std::int32_t>{0, 2} ? "" : "prepared elsewhere\n");
  };
  EXPECT_EQ(on_two_ranks<PreparedDriver>(body, "devices=3"), "");
}

/// A word that nobody has set yet.
std::uint32_t* new_word(Device& device) {
  auto* const word = static_cast<std::uint32_t*>(*device.driver().allocate_pinned(64));
  *word = 0;
  return word;
}

TEST(StreamCalls, ReturnBeforeTheStreamIsThere) {
  EXPECT_EQ(on_two_ranks([](Rank rank) -> std::string {
              std::uint32_t* const gate = new_word(rank.device);
              Vectors vectors(rank.accelerator, rank.context, 5000, 1);
              const bool put = rank.program.wait_for_word(gate, 1) && vectors.fill(rank.program) &&
                               rank.calls.enqueue(vectors.call(), &rank.program) && vectors.fetch(rank.program);
              // A call that waited for its stream would wait for what is done only now.
              device::store_word(gate, 1);
              return put && rank.program.synchronise() ? vectors.fault() : "not done\n";
            }),
            "");
}

TEST(StreamCalls, AreFollowedByCallsThatBlock) {
  EXPECT_EQ(on_two_ranks([](Rank rank) -> std::string {
              Vectors vectors(rank.accelerator, rank.context, 70001, 1);
              if (!vectors.fill(rank.program) || !rank.calls.enqueue(vectors.call(), &rank.program))
                return "not enqueued\n";
              if (!rank.calls.finish()) return "not finished\n";
              std::string fault = fault_of(rank.context, TestCall{70001});
              if (!vectors.fetch(rank.program) || !rank.program.synchronise()) return "not fetched\n";
              return fault + vectors.fault();
            }),
            "");
}

TEST(StreamCalls, RunBeforeTheyAreDestroyed) {
  EXPECT_EQ(on_two_ranks([](Rank rank) -> std::string {
              Vectors vectors(rank.accelerator, rank.context, 5000, 1);
              {
                StreamCalls brief(rank.device, run_in(rank.context));
                if (!vectors.fill(rank.program) || !brief.enqueue(vectors.call(), &rank.program))
                  return "not enqueued\n";
              }
              return vectors.fetch(rank.program) && rank.program.synchronise() ? vectors.fault() : "not done\n";
            }),
            "");
}

TEST(StreamCalls, TakeWordsAgainThatWereGivenBack) {
  EXPECT_EQ(on_two_ranks([](Rank rank) -> std::string {
              std::vector<std::unique_ptr<Vectors>> all;
              for (unsigned round = 0; round < 200; ++round) {
                Vectors& one =
                    *all.emplace_back(std::make_unique<Vectors>(rank.accelerator, rank.context, 3, round + 1));
                const bool put =
                    one.fill(rank.program) && rank.calls.enqueue(one.call(), &rank.program) && one.fetch(rank.program);
                if (!put || (round % 50 == 49 && !rank.program.synchronise())) return "not done\n";
              }
              std::string faults;
              for (const auto& one : all)
                faults += one->fault();
              return faults;
            }),
            "");
}

// ---- what they cost -----------------------------------------------------------------------------------------------

TEST(StreamCalls, AskOncePerBuffer) {
  using Asked = AskedDriver<device::SharingDriver>;
  Options options = ThreadJob::options_for_tests();
  options.algorithm = "direct";
  ThreadJob job(2, options);
  DeviceJob device;
  device.give_devices<Asked>(job);
  std::atomic<int> apart{0}, same{0};
  Faults faults(2);
  job.run_in_context([&](Context& context) {
    Device& own = *job.process(context.rank()).device();
    const auto program = std::move(*own.driver().make_stream(0));
    Vectors vectors(*device.accelerator, context, 70001, 1);
    Call in_place = vectors.call();
    in_place.input = in_place.output;
    StreamCalls calls(own, run_in(context));
    const auto questions = [&](const Call& call) {
      if (!calls.enqueue(call, program.get()) || !calls.finish()) faults.add(context, "not done\n");
      return Asked::of(job, context.rank());
    };
    (void)questions(vectors.call()); // makes the plan
    const int twice = questions(vectors.call()), once = questions(in_place);
    if (context.rank() != 0) return;
    apart = twice;
    same = once;
  });
  EXPECT_EQ(faults.text(), "");
  EXPECT_EQ(apart, 2) << "when it is put, and not when it runs";
  EXPECT_EQ(same, 1);
}

/// The threads of this process, by the kernel's numbers. One that was joined may still be among them for a moment.
std::set<std::string> threads() {
  std::set<std::string> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    numbers.insert(entry.path().filename());
  return numbers;
}

/// How many were not there before.
std::ptrdiff_t new_threads(const std::set<std::string>& before) {
  const std::set<std::string> now = threads();
  return std::count_if(now.begin(), now.end(), [&](const std::string& number) { return !before.contains(number); });
}

TEST(StreamCalls, StartOneThreadWithTheFirstOfThem) {
  const auto accelerator = std::make_shared<Accelerator>();
  Device device(std::make_unique<device::EmulatedDriver>(accelerator), std::size_t{1} << 20, std::size_t{1} << 20);
  const auto program = std::move(*device.driver().make_stream(0));
  KindOfMemory vector(*accelerator, Kind::device, 0, sizeof(float), 0);
  const Call call{vector.pointer(), vector.pointer(), 1, Element::float32, Operation::sum};
  const auto before = threads(); // the stream's among them
  StreamCalls calls(device, [](const Call&) { return ok(); });
  EXPECT_EQ(new_threads(before), 0);
  ASSERT_TRUE(calls.enqueue(call, program.get()));
  EXPECT_EQ(new_threads(before), 1);
  ASSERT_TRUE(calls.enqueue(call, program.get()));
  EXPECT_EQ(new_threads(before), 1);
  EXPECT_TRUE(calls.finish());
  EXPECT_EQ(new_threads(before), 1);
}

// ---- trouble ----------------------------------------------------------------------------------------------------

std::string refusal(const char* trouble) {
  std::string why;
  std::mutex mutex;
  const std::string faults = on_two_ranks(
      [&](Rank rank) -> std::string {
        Vectors vectors(rank.accelerator, rank.context, 50, 1);
        const Status put = rank.calls.enqueue(vectors.call(), &rank.program);
        if (put) return "it was put\n";
        {
          const std::lock_guard lock(mutex);
          why = put.error().message;
        }
        if (put.error().kind != ErrorKind::unsupported) return "another kind of error\n";
        // The context and the stream are as they were.
        return fault_of(rank.context, TestCall{50}) + (rank.program.synchronise() ? "" : "the stream failed\n");
      },
      trouble);
  return faults + why;
}

TEST(StreamCalls, AreRefusedInAStreamThatIsCaptured) {
  EXPECT_EQ(refusal("captures"), "the stream is being captured into a graph");
}

TEST(StreamCalls, AreRefusedWhereStreamsCannotWaitForTheHost) {
  EXPECT_EQ(refusal("no-words"), "streams of the emulated device cannot wait for memory");
}

/// It says that it is lost when the test wants it.
struct LosingDriver : device::EmulatedDriver {
  using EmulatedDriver::EmulatedDriver;
  std::atomic<bool> lost{false};
  Status check(const void*) override { return lost ? Status(Error{ErrorKind::resource, "the device is lost"}) : ok(); }
};

TEST(StreamCalls, TellLaterThatTheDeviceWasLost) {
  EXPECT_EQ(on_two_ranks<LosingDriver>([](Rank rank) -> std::string {
              std::uint32_t* const gate = new_word(rank.device);
              Vectors vectors(rank.accelerator, rank.context, 5000, 1);
              if (!rank.program.wait_for_word(gate, 1) || !rank.calls.enqueue(vectors.call(), &rank.program))
                return "not enqueued\n";
              static_cast<LosingDriver&>(rank.device.driver()).lost = true;
              const Status finished = rank.calls.finish();
              if (finished || finished.error().message != "the device is lost") return "not noticed\n";
              const Status next = rank.calls.enqueue(vectors.call(), &rank.program);
              if (next || next.error().message != "the device is lost") return "the next call was put\n";
              device::store_word(gate, 1); // what there is of a stream goes on
              return rank.program.synchronise() ? "" : "the stream stands still\n";
            }),
            "");
}

TEST(StreamCalls, TellOfAFailureBeforeTheStreamGoesOn) {
  EXPECT_EQ(on_two_ranks([](Rank rank) -> std::string {
              StreamCalls failing(rank.device, [](const Call&) -> Status {
                return Error{ErrorKind::peer, "rank 7 is gone"};
              });
              Vectors vectors(rank.accelerator, rank.context, 5, 1);
              if (!failing.enqueue(vectors.call(), &rank.program)) return "not enqueued\n";
              if (!rank.program.synchronise()) return "the stream failed\n";
              const Status state = failing.state();
              return !state && state.error().message == "rank 7 is gone" ? "" : "all is said to be well\n";
            }),
            "");
}

// ---- mutations: what if strata forgot something? ------------------------------------------------------------------

/// Streams of the program that forget one of the two words.
template <bool tells_at_once>
struct HastyDriver : device::EmulatedDriver {
  using EmulatedDriver::EmulatedDriver;
  struct Hasty : device::Stream {
    explicit Hasty(std::unique_ptr<Stream> made) : real(std::move(made)) {}
    Status copy(void* to, const void* from, std::size_t bytes) override { return real->copy(to, from, bytes); }
    Status reduce(Element element, Operation operation, void* to, std::span<const void* const> from,
                  std::size_t count) override {
      return real->reduce(element, operation, to, from, count);
    }
    Status record(device::Event& event) override { return real->record(event); }
    Status wait_for(device::Event& event) override { return real->wait_for(event); }
    Status set_word(std::uint32_t* word, std::uint32_t value) override {
      if (!tells_at_once) return real->set_word(word, value);
      device::store_word(word, value);
      return ok();
    }
    Status wait_for_word(const std::uint32_t* word, std::uint32_t value) override {
      return tells_at_once ? real->wait_for_word(word, value) : ok();
    }
    Status synchronise() override { return real->synchronise(); }
    std::unique_ptr<Stream> real;
  };
  Result<std::unique_ptr<device::Stream>> adopt_stream(void* stream) override {
    auto real = EmulatedDriver::adopt_stream(stream);
    return std::unique_ptr<device::Stream>(std::make_unique<Hasty>(std::move(*real)));
  }
};

/// Whether it goes wrong in one of many runs: on a loaded machine the thread that is too early may come late.
template <typename Driver>
bool is_seen() {
  for (int once = 0; once < 50; ++once)
    if (!run<Driver>(2, 1).empty()) return true;
  return false;
}

TEST(StreamCalls, AreSeenToBeWrongWhenTheyDoNotWaitForTheStream) { EXPECT_TRUE(is_seen<HastyDriver<true>>()); }
TEST(StreamCalls, AreSeenToBeWrongWhenTheStreamDoesNotWaitForThem) { EXPECT_TRUE(is_seen<HastyDriver<false>>()); }

} // namespace
} // namespace strata::comm
