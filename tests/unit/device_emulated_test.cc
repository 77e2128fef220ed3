// SPDX-License-Identifier: BSD-3-Clause
// The emulated device: it must catch what a real one would make wrong, each time.
#include "device/emulated/driver.h"
#include "device/emulated/program.h"
#include "vectors.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace strata::device {
namespace {

using type::Element;
using type::Operation;

class EmulatedDevice : public testing::Test {
protected:
  void use(const std::string& faults) {
    const auto parsed = parse_faults(faults);
    ASSERT_TRUE(parsed) << parsed.error().message;
    accelerator_->faults = *parsed;
  }
  /// Device memory that holds `values`.
  void* memory_of(const std::vector<std::int32_t>& values, std::int32_t device = 0) {
    void* const begin = *driver_.allocate(device, values.size() * sizeof(std::int32_t));
    std::memcpy(alias(begin), values.data(), values.size() * sizeof(std::int32_t));
    return begin;
  }
  std::int32_t* alias(void* memory) {
    return reinterpret_cast<std::int32_t*>(*accelerator_->memory.reach(memory, sizeof(std::int32_t)));
  }
  std::unique_ptr<Stream> stream(std::int32_t device = 0) { return std::move(*driver_.make_stream(device)); }

  std::shared_ptr<Accelerator> accelerator_ = std::make_shared<Accelerator>();
  EmulatedDriver driver_{accelerator_};
};

using EmulatedDeviceDeathTest = EmulatedDevice;

TEST_F(EmulatedDeviceDeathTest, KillsAHostThatReadsDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const volatile std::int32_t* const memory = static_cast<std::int32_t*>(memory_of({1, 2, 3}));
  EXPECT_DEATH((void)*memory, "");
}

TEST_F(EmulatedDevice, ShowsNoCopyBeforeSomebodyWaits) {
  void* const memory = memory_of({7});
  std::int32_t seen = -1;
  const auto queue = stream();
  ASSERT_TRUE(queue->copy(&seen, memory, sizeof seen));
  EXPECT_EQ(seen, -1);
  ASSERT_TRUE(queue->synchronise());
  EXPECT_EQ(seen, 7);
}

TEST_F(EmulatedDevice, ReadsTheSourceOfACopyWhenItRunsAndNotWhenItIsEnqueued) {
  void* const memory = memory_of({0});
  std::int32_t source = 1;
  const auto queue = stream();
  ASSERT_TRUE(queue->copy(memory, &source, sizeof source));
  source = 2;
  ASSERT_TRUE(queue->synchronise());
  EXPECT_EQ(*alias(memory), 2);
}

TEST_F(EmulatedDevice, ReachesAnEventOnlyAfterItsWorkAndSomeLooks) {
  void* const memory = memory_of({7});
  std::int32_t seen = -1;
  const auto queue = stream();
  const auto event = std::move(*driver_.make_event(0));
  EXPECT_TRUE(*event->reached()) << "never recorded";
  ASSERT_TRUE(queue->copy(&seen, memory, sizeof seen));
  ASSERT_TRUE(queue->record(*event));
  EXPECT_FALSE(*event->reached());
  EXPECT_EQ(seen, -1);
  while (!*event->reached())
    usleep(10);
  EXPECT_EQ(seen, 7);
}

TEST_F(EmulatedDevice, RunsTheYoungestStreamFirstUnlessItWaitsForAnEvent) {
  void* const memory = memory_of({1});
  const std::int32_t five = 5;
  std::int32_t unordered = 0, ordered = 0;
  const auto older = stream(), younger = stream(), waiting = stream();
  const auto event = std::move(*driver_.make_event(0));
  ASSERT_TRUE(older->copy(memory, &five, sizeof five));
  ASSERT_TRUE(older->record(*event));
  ASSERT_TRUE(younger->copy(&unordered, memory, sizeof unordered));
  ASSERT_TRUE(younger->synchronise());
  EXPECT_EQ(unordered, 1);
  ASSERT_TRUE(waiting->wait_for(*event));
  ASSERT_TRUE(waiting->copy(&ordered, memory, sizeof ordered));
  ASSERT_TRUE(waiting->synchronise());
  EXPECT_EQ(ordered, 5);
}

TEST_F(EmulatedDevice, RefusesARangeThatLeavesItsAllocation) {
  void* const memory = memory_of({1, 2});
  std::int32_t host[3] = {};
  const Status copied = stream()->copy(host, memory, sizeof host);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().kind, ErrorKind::argument);
}

TEST_F(EmulatedDevice, RefusesACopyOfMemoryThatWasFreedBeforeItRan) {
  void* const memory = memory_of({1});
  std::int32_t host = 0;
  const auto queue = stream();
  ASSERT_TRUE(queue->copy(&host, memory, sizeof host));
  ASSERT_TRUE(driver_.free(memory));
  EXPECT_FALSE(queue->synchronise());
}

TEST_F(EmulatedDevice, ReducesEveryTypeAndOperationAsThePlainLoopsDo) {
  constexpr std::int64_t count = 37;
  vectors::for_each_kind([&](Element element, Operation operation) {
    const auto wanted = vectors::reduction(element, operation, 3, count, 5);
    std::vector<const void*> inputs;
    for (int rank = 0; rank < 3; ++rank) {
      const auto values = vectors::contribution(element, operation, rank, count, 5);
      void* const memory = *driver_.allocate(0, values.size());
      std::memcpy(alias(memory), values.data(), values.size());
      inputs.push_back(memory);
    }
    void* const out = *driver_.allocate(0, wanted.size());
    const auto queue = stream();
    ASSERT_TRUE(queue->reduce(element, operation, out, inputs, count));
    ASSERT_TRUE(queue->synchronise());
    EXPECT_EQ(vectors::difference(wanted, reinterpret_cast<std::byte*>(alias(out)), type::bytes_of(element)), "")
        << type::name_of(element) << ' ' << type::name_of(operation);
  });
}

TEST_F(EmulatedDevice, RefusesHostMemoryInAKernel) {
  std::int32_t host = 1;
  const void* const inputs[] = {&host};
  EXPECT_FALSE(stream()->reduce(Element::int32, Operation::sum, memory_of({1}), inputs, 1));
}

TEST_F(EmulatedDevice, RefusesAnUnalignedPointerInAKernel) {
  auto* const memory = static_cast<std::byte*>(memory_of({1, 2, 3}));
  const void* const inputs[] = {memory + 1};
  EXPECT_FALSE(stream()->reduce(Element::int32, Operation::sum, memory_of({1}), inputs, 1));
}

TEST_F(EmulatedDevice, LetsAKernelReachAnotherDeviceOnlyOncePeerAccessIsEnabled) {
  use("devices=2");
  const void* const inputs[] = {memory_of({4}, 1)};
  void* const out = memory_of({0}, 0);
  const auto queue = stream(0);
  EXPECT_FALSE(queue->reduce(Element::int32, Operation::sum, out, inputs, 1));
  ASSERT_TRUE(driver_.enable_peer_access(0, 1));
  EXPECT_TRUE(queue->reduce(Element::int32, Operation::sum, out, inputs, 1));
  ASSERT_TRUE(queue->synchronise());
  EXPECT_EQ(*alias(out), 4);
}

TEST_F(EmulatedDevice, LetsNoCopyOfAnotherDeviceReachAPool) {
  use("devices=2");
  std::int32_t host = 1;
  void* const pool = *accelerator_->memory.allocate(Kind::device, 1, 4, Origin::pool_of_program);
  void* const other = *accelerator_->memory.allocate(Kind::device, 1, 4, Origin::program);
  EXPECT_FALSE(driver_.memory_of(pool)->reached_by_all);
  EXPECT_TRUE(driver_.memory_of(other)->reached_by_all);
  EXPECT_FALSE(driver_.export_memory(other)) << "it is not for strata to export";
  EXPECT_FALSE(stream(0)->copy(pool, &host, 4));
  EXPECT_FALSE(stream(0)->copy(&host, pool, 4));
  EXPECT_TRUE(stream(1)->copy(pool, &host, 4));
  EXPECT_TRUE(stream(0)->copy(other, &host, 4));
}

TEST_F(EmulatedDevice, GivesANewIdToMemoryAtAnAddressThatWasUsedBefore) {
  void* const memory = memory_of({1});
  const std::uint64_t before = driver_.memory_of(memory)->buffer;
  ASSERT_TRUE(driver_.free(memory));
  ASSERT_TRUE(accelerator_->memory.allocate(Kind::device, 0, 4, Origin::strata, memory));
  EXPECT_NE(driver_.memory_of(memory)->buffer, before);
}

TEST_F(EmulatedDevice, KnowsNothingOfMemoryThatIsNotItsOwn) {
  const std::int32_t host = 0;
  EXPECT_EQ(driver_.memory_of(&host)->kind, Kind::host);
}

TEST_F(EmulatedDevice, LetsAnotherProcessMapWhatWasExported) {
  void* const memory = memory_of({3});
  const std::string exported = *driver_.export_memory(memory);
  const pid_t child = fork();
  if (child == 0) {
    const auto opened = driver_.open_exported(exported, 0);
    if (!opened || *opened == memory || *alias(*opened) != 3) _exit(1);
    const auto again = driver_.open_exported(exported, 0);
    *alias(*opened) = 4;
    const bool counted = *again == *opened && driver_.close_exported(*opened) && driver_.close_exported(*opened) &&
                         !driver_.close_exported(*opened);
    _exit(counted ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*alias(memory), 4);
}

TEST_F(EmulatedDevice, RefusesAHandleWhoseMemoryIsGone) {
  void* const memory = memory_of({3});
  const std::string exported = *driver_.export_memory(memory);
  ASSERT_TRUE(driver_.free(memory));
  memory_of({9}); // takes the same descriptor
  const pid_t child = fork();
  if (child == 0) _exit(driver_.open_exported(exported, 0) ? 1 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(EmulatedDevice, RefusesToOpenWhatThisProcessExported) {
  EXPECT_FALSE(driver_.open_exported(*driver_.export_memory(memory_of({3})), 0));
}

TEST_F(EmulatedDevice, DeniesAndFailsWhatItsFaultsSay) {
  use("devices=2,deny-ipc,deny-peer,fail-allocation,fail-pinned,fail-streams,no-words,captures");
  void* const memory = *accelerator_->memory.allocate(Kind::device, 0, 8, Origin::strata);
  EXPECT_EQ(driver_.export_memory(memory).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(driver_.enable_peer_access(0, 1).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(driver_.allocate(0, 8).error().kind, ErrorKind::resource);
  EXPECT_EQ(driver_.allocate_pinned(8).error().kind, ErrorKind::resource);
  EXPECT_EQ(driver_.make_stream(0).error().kind, ErrorKind::resource);
}

TEST_F(EmulatedDevice, DeniesToOpenWhatIsExported) {
  use("deny-open");
  const auto exported = driver_.export_memory(memory_of({3}));
  ASSERT_TRUE(exported);
  const auto opened = driver_.open_exported(*exported, 0);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::unsupported);
  EXPECT_NE(opened.error().message.find("is denied"), std::string::npos) << opened.error().message;
}

TEST_F(EmulatedDevice, CopiesThoughItHasNoKernels) {
  use("no-kernels");
  const void* const inputs[] = {memory_of({3}), memory_of({4})};
  void* const out = memory_of({0});
  const auto queue = stream();
  const Status reduced = queue->reduce(Element::int32, Operation::sum, out, inputs, 1);
  ASSERT_FALSE(reduced);
  EXPECT_EQ(reduced.error().kind, ErrorKind::unsupported);
  ASSERT_TRUE(queue->reduce(Element::int32, Operation::sum, out, {inputs, 1}, 1));
  ASSERT_TRUE(queue->synchronise());
  EXPECT_EQ(*alias(out), 3);
}

TEST_F(EmulatedDevice, IsLostAfterSoManyCopies) {
  use("lost-after=1");
  void* const memory = memory_of({3});
  std::int32_t host = 0;
  const auto queue = stream();
  ASSERT_TRUE(queue->copy(&host, memory, sizeof host));
  ASSERT_TRUE(queue->synchronise());
  ASSERT_TRUE(queue->copy(&host, memory, sizeof host));
  EXPECT_FALSE(queue->synchronise());
}

TEST_F(EmulatedDevice, HasThePciAddressThatATestGivesIt) {
  EXPECT_EQ(driver_.facts(0)->pci_address, "ffff:00:00.0");
  use("devices=2,pci=0000:3b:00.1");
  EXPECT_EQ(driver_.facts(0)->pci_address, "0000:3b:00.1");
  EXPECT_EQ(driver_.facts(1)->pci_address, "ffff:00:01.0");
  use("devices=3,pci=0000:3b:00.1,pci=0000:3c:00.0");
  EXPECT_EQ(driver_.facts(1)->pci_address, "0000:3c:00.0");
  EXPECT_EQ(driver_.facts(2)->pci_address, "ffff:00:02.0");
}

TEST_F(EmulatedDevice, HasTheLinksThatATestGivesIt) {
  EXPECT_TRUE(driver_.linked_to(0).empty());
  use("devices=3,pci=0000:3b:00.1,link=0-1,link=2-0");
  EXPECT_EQ(driver_.linked_to(0), (std::vector<std::string>{"ffff:00:01.0", "ffff:00:02.0"}));
  EXPECT_EQ(driver_.linked_to(1), (std::vector<std::string>{"0000:3b:00.1"}));
  EXPECT_EQ(driver_.linked_to(2), (std::vector<std::string>{"0000:3b:00.1"}));
}

TEST_F(EmulatedDevice, IsNotInitialisedForADriverThatIsTooOldForIt) {
  use("too-old");
  EXPECT_EQ(driver_.why_blind(), "") << "the program does not use it";
  ASSERT_TRUE(driver_.initialise());
  EXPECT_FALSE(driver_.initialised());
  EXPECT_EQ(driver_.why_blind(), "the emulated device is too old");
  use("");
  EXPECT_EQ(driver_.why_blind(), "");
}

TEST_F(EmulatedDevice, RunsNothingForWhoeverIsHasty) {
  void* const memory = memory_of({3});
  std::int32_t host = 0;
  const auto queue = stream();
  const auto event = std::move(*driver_.make_event(0));
  use("hasty");
  ASSERT_TRUE(queue->copy(&host, memory, sizeof host));
  ASSERT_TRUE(queue->synchronise());
  EXPECT_EQ(host, 0);
  ASSERT_TRUE(queue->copy(&host, memory, sizeof host));
  ASSERT_TRUE(queue->record(*event));
  EXPECT_TRUE(*event->reached());
  EXPECT_EQ(host, 0);
  use("");
  ASSERT_TRUE(queue->copy(&host, memory, sizeof host));
  ASSERT_TRUE(queue->synchronise());
  EXPECT_EQ(host, 3) << "what is put there later runs";
}

TEST(EmulatedFaults, RefusesWordsThatItDoesNotKnow) {
  for (const char* text : {"deny", "devices", "devices=0", "devices=17", "lost-after=x", "deny-ipc,", "deny-ipc=1",
                           "pci=", "pci=3b:00.0", "pci=0000:3b:00.0x", "pci=0000-3b:00.0", "pci=000g:3b:00.0",
                           "link=", "link=0", "link=0-1-2", "link=0-16", "link=a-1"})
    EXPECT_FALSE(parse_faults(text)) << text;
}

} // namespace
} // namespace strata::device
