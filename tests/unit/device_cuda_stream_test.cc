// SPDX-License-Identifier: BSD-3-Clause
// What cuda.so does with streams of the program, over a libcuda of the tests' own, where everything runs at once.
#include "cuda_driver_test.h"

namespace strata::device {
namespace {

TEST_F(CudaDriverTest, UsesAStreamOfTheProgramInItsOwnContextAndLeavesItThere) {
  void* const own = cuda().enter_own_context(1);
  void* const program = cuda().make_stream();
  const auto pinned = driver_->allocate_pinned(4096);
  ASSERT_TRUE(pinned);
  auto* const words = static_cast<std::uint32_t*>(*pinned);
  words[0] = 0;
  {
    const auto stream = driver_->adopt_stream(program);
    ASSERT_TRUE(stream) << stream.error().message;
    EXPECT_TRUE((*stream)->copy(words + 8, words + 4, 8));
    EXPECT_TRUE((*stream)->set_word(words, 7));
    EXPECT_EQ(words[0], 7u);
    EXPECT_TRUE((*stream)->wait_for_word(words + 1, 7));
    EXPECT_EQ(calls("cuStreamWaitValue32"), 1u);
  }
  EXPECT_EQ(calls("cuStreamDestroy"), 0u);
  EXPECT_EQ(cuda().current(), own);
  EXPECT_EQ(calls("cuCtxPushCurrent"), calls("cuCtxPopCurrent"));
  cuda().release_stream(program);
  cuda().leave_context();
}

TEST_F(CudaDriverTest, SetsAndAwaitsWordsInTheMemoryOfADevice) {
  const auto memory = driver_->allocate(1, 256);
  ASSERT_TRUE(memory) << memory.error().message;
  const auto stream = driver_->make_stream(1);
  ASSERT_TRUE(stream) << stream.error().message;
  auto* const word = static_cast<std::uint32_t*>(*memory) + 3;
  *word = 0; // which the tests' libcuda has in the host's memory
  EXPECT_TRUE((*stream)->set_word(word, 9));
  EXPECT_EQ(*word, 9u);
  EXPECT_TRUE((*stream)->wait_for_word(word, 9));
  EXPECT_EQ(calls("cuStreamWaitValue32"), 1u);
  EXPECT_TRUE(driver_->free(*memory));
}

TEST_F(CudaDriverTest, TakesTheDefaultStreamOfTheCurrentContext) {
  const auto nowhere = driver_->adopt_stream(nullptr);
  ASSERT_FALSE(nowhere) << "there is no current context";
  cuda().enter_own_context(2);
  const auto pinned = driver_->allocate_pinned(64);
  const auto stream = driver_->adopt_stream(nullptr);
  ASSERT_TRUE(pinned && stream);
  EXPECT_TRUE((*stream)->wait_for_word(static_cast<std::uint32_t*>(*pinned), 1));
  cuda().leave_context();
}

TEST_F(CudaDriverTest, RefusesAStreamThatIsCapturedIntoAGraph) {
  cuda().enter_own_context(0);
  void* const program = cuda().make_stream();
  cuda().capturing = 1;
  const auto stream = driver_->adopt_stream(program);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().kind, ErrorKind::unsupported);
  EXPECT_NE(stream.error().message.find("captured into a graph"), std::string::npos);
  cuda().release_stream(program);
  cuda().leave_context();
}

TEST_F(CudaDriverTest, NamesWhatFailedInAStreamOfTheProgram) {
  cuda().enter_own_context(0);
  void* const program = cuda().make_stream();
  const auto pinned = driver_->allocate_pinned(64);
  const auto stream = driver_->adopt_stream(program);
  ASSERT_TRUE(pinned && stream);
  auto* const word = static_cast<std::uint32_t*>(*pinned);
  cuda().failing_code = uncorrectable;
  cuda().failing = "cuStreamWriteValue32";
  const Status set = (*stream)->set_word(word, 1);
  cuda().failing = "cuStreamWaitValue32";
  const Status waits = (*stream)->wait_for_word(word, 1);
  cuda().failing = "cuStreamIsCapturing";
  const auto adopted = driver_->adopt_stream(program);
  cuda().failing = nullptr;
  ASSERT_FALSE(set || waits || adopted);
  EXPECT_EQ(set.error().message, "cuStreamWriteValue32 on device 0: CUDA_ERROR_ECC_UNCORRECTABLE");
  EXPECT_EQ(waits.error().message, "cuStreamWaitValue32 on device 0: CUDA_ERROR_ECC_UNCORRECTABLE");
  EXPECT_EQ(adopted.error().message, "cuStreamIsCapturing of the program's stream: CUDA_ERROR_ECC_UNCORRECTABLE");
  cuda().release_stream(program);
  cuda().leave_context();
}

TEST_F(CudaDriverTest, FreesNothingWhileAStreamMayWaitForTheHost) {
  void* const device = *driver_->allocate(0, 4096);
  void* const pinned = *driver_->allocate_pinned(4096);
  driver_->hold_frees();
  driver_->hold_frees();
  EXPECT_TRUE(driver_->free(device));
  driver_->release_frees();
  EXPECT_TRUE(driver_->free_pinned(pinned));
  EXPECT_EQ(calls("cuMemFree") + calls("cuMemFreeHost"), 0u);
  driver_->release_frees();
  void* const another = *driver_->allocate(0, 4096);
  EXPECT_TRUE(driver_->free(another));
  EXPECT_EQ(calls("cuMemFree"), 2u);
  EXPECT_EQ(calls("cuMemFreeHost"), 1u);
}

TEST_F(CudaDriverTest, FreesInTheEndWhatWasHeld) {
  void* const device = *driver_->allocate(0, 4096);
  driver_->hold_frees();
  EXPECT_TRUE(driver_->free(device));
  driver_.reset();
  EXPECT_EQ(calls("cuMemFree"), 1u);
}

TEST_F(CudaDriverTest, LoadsItsKernelsBeforeAStreamWaits) {
  void* const device = *driver_->allocate(1, 4096);
  EXPECT_TRUE(driver_->prepare_reduction(1, device, type::Element::float32, type::Operation::sum));
  EXPECT_EQ(calls("cuModuleLoadData"), 1u);
  EXPECT_EQ(calls("cuModuleGetFunction"), 1u);
  EXPECT_EQ(calls("cuLaunchKernel"), 0u);
  EXPECT_FALSE(driver_->prepare_reduction(-1, device, type::Element::float32, type::Operation::sum));
}

TEST(CudaModule, DoesWithoutWordsUnderADriverOfCuda110) {
  const LoadedLibcuda without("tests/unit/without-words/libcuda.so.1");
  ASSERT_NE(without.control(), nullptr);
  without.control()->reset();
  {
    const auto driver = open_driver(with_modules_of_this_build());
    ASSERT_TRUE(driver) << driver.error().message;
    const auto stream = (*driver)->make_stream(0);
    ASSERT_TRUE(stream) << stream.error().message;
    std::uint32_t word = 0;
    const Status set = (*stream)->set_word(&word, 1), waits = (*stream)->wait_for_word(&word, 1);
    ASSERT_FALSE(set || waits);
    EXPECT_EQ(set.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(waits.error().message, "libcuda.so.1 cannot make a stream wait for memory: needed is CUDA 11.7 or later");
  }
  without.control()->reset();
}

} // namespace
} // namespace strata::device
