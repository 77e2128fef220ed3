// SPDX-License-Identifier: BSD-3-Clause
// The module cuda.so over a libcuda of the tests' own: which calls it makes, in which context, and what becomes of
// their errors. Kernels are run here, thread after thread. What a real driver and a real GPU do with these calls, it
// cannot show.
#include "cuda_driver_test.h"
#include "kernel/cuda/reduce.h"
#include "kernel/cuda/rows.h"
#include "kernel/kernel.h"
#include "samples.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include <unistd.h>

namespace strata::device {
namespace {

using kernel::Element;
using kernel::Operation;

constexpr std::uint32_t seed = 20260608;

/// Runs a kernel as the GPU would, by its name.
void run_kernel(const char* name, unsigned blocks, unsigned threads, const void* argument) {
  using namespace kernel::elements;
  namespace cuda = kernel::cuda;
  using Part = void (*)(const cuda::Reduction&, cuda::Thread);
  static const std::map<std::string, Part> parts{
#define STRATA_TEST_ROW(element, Format, operation, Op)                                                                \
  {"strata_reduce_" #element "_" #operation, cuda::reduce_part<Format, Op>},
      STRATA_CUDA_KERNELS(STRATA_TEST_ROW)
#undef STRATA_TEST_ROW
  };
  cuda::Reduction reduction{};
  std::memcpy(&reduction, argument, sizeof reduction);
  const std::uint64_t all = std::uint64_t{blocks} * threads;
  for (std::uint64_t thread = 0; thread < all; ++thread)
    parts.at(name)(reduction, {thread, all});
}

unsigned most_blocks_seen = 0;
void count_blocks(const char*, unsigned blocks, unsigned, const void*) {
  most_blocks_seen = std::max(most_blocks_seen, blocks);
}

/// Sums a vector on device 0.
Status sum(fake_libcuda& cuda, Stream& stream) {
  void* const memory = cuda.allocate(fake_device, 0, 4096);
  const void* const from[] = {memory, memory};
  return stream.reduce(Element::float32, Operation::sum, memory, from, 100);
}

// ---- when there is a driver -------------------------------------------------------------------------------------

TEST_F(CudaDriverTest, IsNotAskedAnythingBeforeTheProgramCallsCuInit) {
  cuda().initialised = 0;
  EXPECT_FALSE(driver_->initialised());
  const auto memory = driver_->memory_of(&seed);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->kind, Kind::host);
  EXPECT_EQ(calls("cuPointerGetAttributes"), 0u);
  EXPECT_EQ(calls("cuInit"), 0u);
  cuda().initialised = 1;
  EXPECT_TRUE(driver_->initialised());
}

TEST_F(CudaDriverTest, InitialisesCudaForATool) {
  cuda().initialised = 0;
  EXPECT_FALSE(driver_->initialised());
  const Status begun = driver_->initialise();
  EXPECT_TRUE(begun) << (begun ? "" : begun.error().message);
  EXPECT_EQ(calls("cuInit"), 1u);
  EXPECT_TRUE(driver_->initialised());
  EXPECT_TRUE(driver_->initialise());
  EXPECT_EQ(calls("cuInit"), 1u);
}

TEST_F(CudaDriverTest, SaysWhichDevicesReachEachOtherAndMakesNoContextForIt) {
  const auto can = driver_->reaches(0, 1), own = driver_->reaches(1, 1);
  ASSERT_TRUE(can && own);
  EXPECT_TRUE(*can);
  EXPECT_TRUE(*own);
  cuda().peers_denied = 1;
  const auto denied = driver_->reaches(0, 1);
  ASSERT_TRUE(denied);
  EXPECT_FALSE(*denied);
  EXPECT_FALSE(driver_->reaches(0, 99));
  EXPECT_FALSE(driver_->reaches(-1, 0));
  EXPECT_EQ(calls("cuDevicePrimaryCtxRetain"), 0u);
}

TEST_F(CudaDriverTest, FindsALibcudaThatTheProgramLoadsLater) {
  libcuda_.close();
  EXPECT_FALSE(driver_->initialised());
  EXPECT_FALSE(driver_->initialised());
  libcuda_.load();
  cuda().reset();
  EXPECT_TRUE(driver_->initialised());
}

TEST_F(CudaDriverTest, MakesNoContextByLooking) {
  EXPECT_TRUE(driver_->initialised());
  EXPECT_TRUE(driver_->memory_of(&seed));
  EXPECT_EQ(driver_->devices(), fake_devices);
  EXPECT_EQ(calls("cuDevicePrimaryCtxRetain"), 0u);
}

TEST(CudaModule, IsOpenedOnlyWhereThereCanBeADriverAndElseSaysWhyNot) {
  const auto opened = open_driver(with_modules_of_this_build());
  if (access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0) {
    EXPECT_TRUE(opened) << opened.error().message;
    return;
  }
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::unsupported);
  EXPECT_NE(opened.error().message.find("/dev/nvidiactl does not exist"), std::string::npos) << opened.error().message;
}

TEST(CudaModule, NamesTheCallThatAnOldDriverLacks) {
  const LoadedLibcuda old("tests/unit/old/libcuda.so.1");
  ASSERT_NE(old.control(), nullptr);
  old.control()->reset();
  const auto driver = open_driver(with_modules_of_this_build());
  ASSERT_TRUE(driver) << driver.error().message;
  EXPECT_FALSE((*driver)->initialised());
  const auto stream = (*driver)->make_stream(0);
  ASSERT_FALSE(stream);
  const char* const why = "libcuda.so.1 has no cuIpcOpenMemHandle_v2: the driver is older than CUDA 11.0";
  EXPECT_EQ(stream.error().message, why);
  EXPECT_EQ((*driver)->why_blind(), why);
  old.control()->initialised = 0;
  EXPECT_EQ((*driver)->why_blind(), "") << "the program has no memory of a device";
}

TEST(CudaModule, IsMissedOnceTheProgramHasInitialisedCuda) {
  Options options;
  EXPECT_FALSE(program_uses_device(options)) << "libcuda is not loaded";
  const LoadedLibcuda libcuda;
  ASSERT_NE(libcuda.control(), nullptr);
  libcuda.control()->reset();
  EXPECT_TRUE(program_uses_device(options));
  libcuda.control()->initialised = 0;
  EXPECT_FALSE(program_uses_device(options));
  libcuda.control()->initialised = 1;
  for (const char* device : {"off", "emulated", "emulated:devices=2"}) {
    options.device = device;
    EXPECT_FALSE(program_uses_device(options)) << device;
  }
}

TEST_F(CudaDriverTest, RefusesADriverBeforeCuda11) {
  cuda().version = 10020;
  EXPECT_FALSE(driver_->initialised());
  const auto stream = driver_->make_stream(0);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(stream.error().message, "the driver is of CUDA 10.2; needed is 11.0 or later");
  EXPECT_EQ(driver_->why_blind(), stream.error().message);
}

TEST_F(CudaDriverTest, IsNotBlindWithADriverThatItKnows) {
  cuda().initialised = 0;
  EXPECT_EQ(driver_->why_blind(), "");
  cuda().initialised = 1;
  EXPECT_EQ(driver_->why_blind(), "");
  EXPECT_TRUE(driver_->initialised());
}

TEST_F(CudaDriverTest, GivesEverythingBack) {
  {
    auto stream = driver_->make_stream(0);
    auto event = driver_->make_event(1);
    ASSERT_TRUE(stream && event);
    cuda().launched = run_kernel;
    ASSERT_TRUE(sum(cuda(), **stream));
    const auto device = driver_->allocate(2, 4096), pinned = driver_->allocate_pinned(4096);
    const auto managed = driver_->allocate_managed(1, 4096);
    ASSERT_TRUE(device && pinned && managed);
    EXPECT_FALSE(driver_->free(*managed)) << "it is no device memory";
    EXPECT_TRUE(driver_->free_managed(*managed));
    EXPECT_TRUE(driver_->free(*device));
    EXPECT_TRUE(driver_->free_pinned(*pinned));
  }
  driver_.reset();
  EXPECT_EQ(cuda().left_over(), 1) << "what the test itself allocated is there";
}

// ---- contexts and streams ---------------------------------------------------------------------------------------

TEST_F(CudaDriverTest, WorksInThePrimaryContextAndLeavesTheProgramsOwnCurrent) {
  void* const own = cuda().enter_own_context(0);
  const auto stream = driver_->make_stream(1);
  const auto event = driver_->make_event(1);
  const auto memory = driver_->allocate(1, 4096);
  ASSERT_TRUE(stream && event && memory);
  EXPECT_EQ(driver_->memory_of(*memory)->device, 1);
  EXPECT_TRUE((*stream)->copy(*memory, static_cast<std::byte*>(*memory) + 2048, 2048));
  EXPECT_TRUE((*stream)->record(**event));
  EXPECT_TRUE((*stream)->wait_for(**event));
  EXPECT_TRUE((*stream)->synchronise());
  EXPECT_TRUE(driver_->synchronise(1));
  EXPECT_TRUE(driver_->free(*memory));
  EXPECT_EQ(cuda().current(), own);
  EXPECT_EQ(calls("cuCtxPushCurrent"), calls("cuCtxPopCurrent"));
  cuda().leave_context();
}

TEST_F(CudaDriverTest, AsksEventsWithoutWaiting) {
  const auto event = driver_->make_event(0);
  ASSERT_TRUE(event);
  cuda().events_pending = 1;
  EXPECT_FALSE(*(*event)->reached());
  cuda().events_pending = 0;
  EXPECT_TRUE(*(*event)->reached());
  cuda().failing = "cuEventQuery";
  cuda().failing_code = uncorrectable;
  const auto lost = (*event)->reached();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().message, "cuEventQuery on device 0: CUDA_ERROR_ECC_UNCORRECTABLE");
}

TEST_F(CudaDriverTest, TellsTheFactsOfADevice) {
  const auto facts = driver_->facts(2);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->name, "Fake H100");
  EXPECT_EQ(facts->pci_address, "0000:AF:00.0");
  EXPECT_EQ(facts->bytes, std::size_t{80} << 30);
  EXPECT_FALSE(driver_->facts(fake_devices));
  EXPECT_FALSE(driver_->make_stream(-1));
}

TEST_F(CudaDriverTest, CountsTheNvlinksWhereThereIsNvml) {
  EXPECT_EQ(driver_->links(0), -1) << "there is no libnvidia-ml.so.1";
  EXPECT_TRUE(driver_->linked_to(0).empty());
  void* const nvml = dlopen((folder_of_build() + "/tests/unit/libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nvml, nullptr) << dlerror();
  EXPECT_EQ(driver_->links(0), 7);
  EXPECT_EQ(driver_->links(1), 0) << "it has none";
  EXPECT_EQ(driver_->links(2), -1) << "NVML does not know it";
  EXPECT_EQ(driver_->linked_to(0), (std::vector<std::string>{"0000:5e:00.0", "0000:86:00.0", "switch"}));
  EXPECT_TRUE(driver_->linked_to(1).empty());
  dlclose(nvml);
}

// ---- kernels ----------------------------------------------------------------------------------------------------

TEST_F(CudaDriverTest, ReducesEveryTypeByEveryOperationToTheBitsOfThePlainLoops) {
  const auto stream = driver_->make_stream(0);
  ASSERT_TRUE(stream);
  cuda().launched = run_kernel;
  std::mt19937_64 random(seed);
  constexpr std::size_t count = 1003, vectors = 3;
  for (std::size_t e = 0; e < type::element_kinds; ++e)
    for (std::size_t o = 0; o < type::operation_kinds; ++o) {
      const auto element = static_cast<Element>(e);
      const auto operation = static_cast<Operation>(o);
      if (!type::is_defined(element, operation)) continue;
      std::vector<std::vector<std::byte>> operands;
      const void* from[vectors];
      for (std::size_t i = 0; i < vectors; ++i)
        from[i] = operands.emplace_back(draw_many(element, kernel::Sample::rare_specials, count, random)).data();
      for (std::size_t i = 0; i < vectors; ++i)
        from[i] = operands[i].data();
      std::vector<std::byte> out(count * bytes_of(element)), expected(out.size());
      kernel::scalar().find(element, operation)(expected.data(), from, vectors, count, kernel::Store::cached, nullptr);
      const Status reduced = (*stream)->reduce(element, operation, out.data(), from, count);
      ASSERT_TRUE(reduced) << reduced.error().message;
      EXPECT_EQ(out, expected) << name_of(element) << " " << name_of(operation) << ", seed " << seed;
    }
}

TEST_F(CudaDriverTest, CopiesAReductionOfOneVector) {
  const auto stream = driver_->make_stream(0);
  ASSERT_TRUE(stream);
  const std::uint32_t signalling = 0xff812345;
  std::uint32_t out = 0;
  const void* const from[] = {&signalling};
  ASSERT_TRUE((*stream)->reduce(Element::float32, Operation::sum, &out, from, 1));
  EXPECT_EQ(out, signalling);
  EXPECT_EQ(calls("cuLaunchKernel"), 0u);
}

TEST_F(CudaDriverTest, KeepsTheGridWithinItsBound) {
  static std::byte memory[16]; // no kernel runs
  const void* const from[] = {memory, memory};
  cuda().launched = count_blocks;
  for (const auto& [bound, seen] :
       {std::pair<std::uint64_t, unsigned>{0, 8}, {3, 3}}) { // the fake has 2 multiprocessors
    Options options = with_modules_of_this_build();
    options.device_blocks = bound;
    open(options);
    const auto stream = driver_->make_stream(0);
    ASSERT_TRUE(stream);
    most_blocks_seen = 0;
    ASSERT_TRUE((*stream)->reduce(Element::float64, Operation::sum, memory, from, std::size_t{1} << 30));
    EXPECT_EQ(most_blocks_seen, seen);
    most_blocks_seen = 0;
    ASSERT_TRUE((*stream)->reduce(Element::float64, Operation::sum, memory, from, 10));
    EXPECT_EQ(most_blocks_seen, 1u);
  }
}

TEST_F(CudaDriverTest, RefusesReductionsThatAreNotDefined) {
  const auto stream = driver_->make_stream(0);
  ASSERT_TRUE(stream);
  const void* const from[Stream::most_inputs + 1] = {};
  for (const auto& [operation, vectors] : {std::pair<Operation, std::size_t>{Operation::sum, 0},
                                           {Operation::sum, Stream::most_inputs + 1},
                                           {Operation::bitwise_and, 2}}) {
    const Status refused = (*stream)->reduce(Element::float32, operation, nullptr, {from, vectors}, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::argument);
  }
}

TEST_F(CudaDriverTest, GoesOnCopyingUnderADriverThatIsOlderThanTheKernels) {
  const auto stream = driver_->make_stream(0);
  ASSERT_TRUE(stream);
  cuda().version = 11040;
  cuda().failing = "cuModuleLoadData";
  cuda().failing_code = unsupported_ptx;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status reduced = sum(cuda(), **stream);
    ASSERT_FALSE(reduced);
    EXPECT_EQ(reduced.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(reduced.error().message.find("cuModuleLoadData of the kernels for device 0: "
                                           "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (the driver is of CUDA 11.4, the "),
              0u)
        << reduced.error().message;
  }
  EXPECT_EQ(calls("cuModuleLoadData"), 1u);
  int from = 1, to = 0;
  EXPECT_TRUE((*stream)->copy(&to, &from, sizeof from));
  EXPECT_EQ(to, 1);
}

TEST_F(CudaDriverTest, SaysWithoutElementsWhetherThereIsAKernel) {
  const auto stream = driver_->make_stream(0);
  ASSERT_TRUE(stream);
  const void* const from[] = {&seed, &seed};
  EXPECT_TRUE((*stream)->reduce(Element::int8, Operation::sum, nullptr, from, 0));
  EXPECT_EQ(calls("cuLaunchKernel"), 0u);
  cuda().missing_kernel = "strata_reduce_int8_maximum";
  const Status missing = (*stream)->reduce(Element::int8, Operation::maximum, nullptr, from, 0);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "cuModuleGetFunction of strata_reduce_int8_maximum on device 0: CUDA_ERROR_NOT_FOUND");
}

} // namespace
} // namespace strata::device
