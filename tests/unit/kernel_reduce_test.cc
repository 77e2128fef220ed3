// SPDX-License-Identifier: BSD-3-Clause
// The vectorised kernels, on every instruction set of this processor, against the plain loops: bit for bit.
#include "kernel/kernel.h"
#include "kernel/vectorised.h"
#include "samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace strata::kernel {
namespace {

using type::Element;
using type::Operation;

constexpr std::uint32_t seed = 20240229;
constexpr std::size_t line_bytes = 64;

const std::vector<Kernels>& instruction_sets() {
  static const std::vector<Kernels> sets = vectorised_for_each_instruction_set();
  return sets;
}

/// Memory that begins `offset` bytes after a cache line's start and ends where the sanitizer's red zone begins.
class Buffer {
public:
  Buffer(std::size_t bytes, std::size_t offset)
      : storage_(static_cast<std::byte*>(::operator new (bytes + offset, std::align_val_t{line_bytes}))),
        offset_(offset) {}
  std::byte* get() const { return storage_.get() + offset_; }

private:
  struct Delete {
    void operator()(std::byte* storage) const { ::operator delete (storage, std::align_val_t{line_bytes}); }
  };
  std::unique_ptr<std::byte, Delete> storage_;
  std::size_t offset_;
};

/// One reduction to compare, and its result by the plain loops.
struct Case {
  Element element;
  Operation operation;
  std::size_t count;
  std::vector<std::vector<std::byte>> operands; ///< `count` elements at least
  std::vector<std::byte> expected;

  std::size_t bytes() const { return count * bytes_of(element); }
};

void expect_from_plain_loops(Case& test) {
  std::vector<const void*> in;
  for (const auto& operand : test.operands)
    in.push_back(operand.data());
  test.expected.resize(test.bytes());
  scalar().find(test.element, test.operation)(test.expected.data(), in.data(), in.size(), test.count, Store::cached,
                                              nullptr);
}

constexpr std::size_t separate = ~std::size_t{0};

std::string bits_at(const std::byte* from, std::size_t size) {
  std::string text = "0x";
  for (std::size_t i = size; i-- > 0;) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(from[i]) >> 4];
    text += digits[std::to_integer<unsigned>(from[i]) & 15];
  }
  return text;
}

/// A copy for a reduction to do beside it: of any length and alignment, and with what it must leave alone around it.
class CopyBeside {
public:
  CopyBeside(std::size_t most_bytes, std::mt19937_64& random)
      : from_(most_bytes, 0), expected_(most_bytes + 2 * guards, guard), to_(most_bytes + 2 * guards, 0) {
    constexpr Store stores[] = {Store::cached, Store::streaming, Store::demoted, Store::shared};
    // Half of them begin at a line, as those that the latency path asks for do.
    const std::size_t at = random() % 2 == 0 ? line_bytes : random() % guards;
    what_.bytes = random() % (most_bytes + 1);
    what_.store = stores[random() % std::size(stores)];
    what_.from = from_.get();
    what_.to = to_.get() + at;
    const std::size_t salt = random() | 1; // cheaper than to draw each byte
    for (std::size_t i = 0; i < what_.bytes; ++i)
      expected_[at + i] = from_.get()[i] = static_cast<std::byte>(i * salt >> 8);
    std::fill_n(to_.get(), expected_.size(), guard);
  }
  const Copy& what() const { return what_; }
  bool is_done() const { return std::memcmp(to_.get(), expected_.data(), expected_.size()) == 0; }

private:
  static constexpr std::byte guard{0x5a};
  static constexpr std::size_t guards = 2 * line_bytes;
  Copy what_;
  Buffer from_;
  std::vector<std::byte> expected_;
  Buffer to_;
};

/// Runs a case with random alignments; `output` is the operand that is reduced in place, or `separate`.
testing::AssertionResult agrees(const Kernels& kernels, const Case& test, Store store, std::size_t output,
                                std::mt19937_64& random) {
  const std::size_t size = bytes_of(test.element);
  const auto any_offset = [&] { return random() % (line_bytes / size) * size; };
  constexpr std::byte guard{0xa5};
  constexpr std::size_t guards = 16;
  Buffer result(test.bytes() + 2 * guards * size, any_offset());
  std::byte* const out = result.get() + guards * size;
  std::fill_n(result.get(), test.bytes() + 2 * guards * size, guard);
  std::vector<Buffer> buffers;
  std::vector<const void*> in;
  for (std::size_t i = 0; i < test.operands.size(); ++i) {
    buffers.emplace_back(test.bytes(), any_offset());
    std::byte* const to = i == output ? out : buffers.back().get();
    if (test.count != 0) std::memcpy(to, test.operands[i].data(), test.bytes());
    in.push_back(to);
  }
  std::vector<CopyBeside> copies;
  std::vector<Copy> to_copy;
  for (std::size_t i = random() % 4; i > 0; --i)
    to_copy.push_back(copies.emplace_back(2 * test.bytes(), random).what());
  Buffer second(test.bytes() + 2 * guards * size, any_offset());
  std::fill_n(second.get(), test.bytes() + 2 * guards * size, guard);
  Beside what;
  what.copies = to_copy;
  if (random() % 2 == 0) what.also = second.get() + guards * size;
  if (random() % 2 == 0) what.also_store = Store::streaming;
  // What is read next, or is said to be: nobody's memory.
  if (random() % 2 == 0) what.fetch = buffers.back().get() + test.bytes();
  const Beside* const beside = random() % 4 == 0 ? nullptr : &what;
  kernels.find(test.element, test.operation)(out, in.data(), in.size(), test.count, store, beside);

  const auto where = [&] {
    return std::string(kernels.instruction_set) + ": " + std::string(name_of(test.operation)) + " of " +
           std::to_string(in.size()) + " vectors of " + std::to_string(test.count) + " " +
           std::string(name_of(test.element)) + (store == Store::cached ? ", cached" : ", streaming") +
           (output == separate ? "" : ", into operand " + std::to_string(output)) + ": ";
  };
  for (std::size_t i = 0; i < test.count; ++i) {
    if (std::memcmp(out + i * size, &test.expected[i * size], size) == 0) continue;
    std::string operands;
    for (const auto& operand : test.operands)
      operands += " " + bits_at(&operand[i * size], size);
    return testing::AssertionFailure() << where() << "element " << i << " is " << bits_at(out + i * size, size)
                                       << ", not " << bits_at(&test.expected[i * size], size) << "; of" << operands;
  }
  const auto untouched = [](std::byte b) { return b == guard; };
  if (!std::all_of(result.get(), out, untouched) ||
      !std::all_of(out + test.bytes(), out + test.bytes() + guards * size, untouched))
    return testing::AssertionFailure() << where() << "wrote outside of the output";
  if (beside == nullptr) return testing::AssertionSuccess();
  for (const CopyBeside& copy : copies)
    if (!copy.is_done())
      return testing::AssertionFailure() << where() << "a copy of " << copy.what().bytes << " bytes beside it is wrong";
  if (what.also != nullptr && std::memcmp(result.get(), second.get(), test.bytes() + 2 * guards * size) != 0)
    return testing::AssertionFailure() << where() << "what was written as well is not the same";
  return testing::AssertionSuccess();
}

class EveryElement : public testing::TestWithParam<Element> {
protected:
  /// Calls visit(operation) for those that are defined.
  template <class Visit>
  void for_operations(Visit visit) {
    for (std::size_t o = 0; o < type::operation_kinds; ++o)
      if (type::is_defined(GetParam(), static_cast<Operation>(o))) visit(static_cast<Operation>(o));
  }
};

TEST_P(EveryElement, ReducesToTheBitsOfThePlainLoops) {
  constexpr std::size_t counts[] = {0,  1,  2,   3,   7,   15,  16,  17,  31,  32,  33,   63,
                                    64, 65, 127, 129, 200, 255, 256, 257, 511, 513, 1000, 4097};
  const Element element = GetParam();
  std::mt19937_64 random(seed);
  for (const Sample sample : samples) {
    std::vector<std::vector<std::byte>> operands;
    for (std::size_t inputs = 1; inputs <= 9; ++inputs) {
      operands.push_back(draw_many(element, sample, counts[std::size(counts) - 1], random));
      for_operations([&](Operation operation) {
        for (const std::size_t count : counts) {
          Case test{element, operation, count, operands, {}};
          expect_from_plain_loops(test);
          for (const Kernels& kernels : instruction_sets())
            for (const Store store : {Store::cached, Store::streaming})
              for (const std::size_t output : {separate, random() % inputs})
                ASSERT_TRUE(agrees(kernels, test, store, output, random));
        }
      });
    }
  }
}

TEST_P(EveryElement, ReducesIntoAnyOfItsOperands) {
  std::mt19937_64 random(seed);
  for_operations([&](Operation operation) {
    Case test{GetParam(), operation, 333, {}, {}};
    for (std::size_t inputs = 1; inputs <= 9; ++inputs) {
      test.operands.push_back(draw_many(GetParam(), Sample::rare_specials, test.count, random));
      expect_from_plain_loops(test);
      for (const Kernels& kernels : instruction_sets())
        for (const Store store : {Store::cached, Store::streaming})
          for (std::size_t output = 0; output < inputs; ++output)
            ASSERT_TRUE(agrees(kernels, test, store, output, random));
    }
  });
}

TEST_P(EveryElement, HasAKernelExactlyWhereMpiDefinesTheOperation) {
  for (const Kernels& kernels : instruction_sets())
    for (std::size_t o = 0; o < type::operation_kinds; ++o) {
      const auto operation = static_cast<Operation>(o);
      EXPECT_EQ(kernels.find(GetParam(), operation) != nullptr, type::is_defined(GetParam(), operation))
          << kernels.instruction_set << ": " << name_of(operation);
    }
}

INSTANTIATE_TEST_SUITE_P(VectorisedKernels, EveryElement,
                         testing::Values(Element::int8, Element::uint8, Element::int16, Element::uint16, Element::int32,
                                         Element::uint32, Element::int64, Element::uint64, Element::float16,
                                         Element::bfloat16, Element::float32, Element::float64),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// `count` copies of `bits` as an element.
std::vector<std::byte> repeated(Element element, std::uint64_t bits, std::size_t count) {
  std::vector<std::byte> values(count * bytes_of(element));
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(&values[i * bytes_of(element)], &bits, bytes_of(element));
  return values;
}

TEST(VectorisedKernels, KeepTheFirstNanWhereverItStands) {
  constexpr std::uint64_t one = 0x3f800000, signalling = 0xff812345, quiet = 0x7fc00077, infinity = 0x7f800000;
  std::mt19937_64 random(seed);
  for (const Operation operation : {Operation::sum, Operation::product, Operation::minimum, Operation::maximum})
    for (std::size_t at = 0; at < 150; ++at)
      for (const auto& [first, second] : {std::pair{signalling, quiet}, {quiet, signalling}, {infinity, quiet}})
        for (std::size_t gap = 1; gap <= 2; ++gap) {
          Case test{Element::float32, operation, 150, {}, {}};
          for (std::size_t input = 0; input < 4; ++input)
            test.operands.push_back(repeated(Element::float32, one, test.count));
          std::memcpy(&test.operands[0][at * 4], &first, 4);
          std::memcpy(&test.operands[gap][at * 4], &second, 4);
          expect_from_plain_loops(test);
          for (const Kernels& kernels : instruction_sets())
            ASSERT_TRUE(agrees(kernels, test, Store::cached, separate, random));
        }
}

/// All 65536 values of a 16-bit format against `partner`.
void compare_all_halves(Element element, Operation operation, std::uint16_t partner, std::mt19937_64& random) {
  Case test{element, operation, 0x10000, {}, {}};
  std::vector<std::byte> all(0x20000);
  for (std::uint32_t half = 0; half < 0x10000; ++half)
    std::memcpy(&all[2 * half], &half, 2);
  test.operands = {all, repeated(element, partner, test.count)};
  expect_from_plain_loops(test);
  for (const Kernels& kernels : instruction_sets())
    ASSERT_TRUE(agrees(kernels, test, Store::cached, separate, random));
}

TEST(VectorisedKernels, ConvertEveryHalfAsThePlainLoopsDo) {
  // Zeros, the least and largest subnormal, the least and largest normal, one and its successor, infinity, NaN.
  std::vector<std::uint16_t> partners{0x0000, 0x8000, 0x0001, 0x03ff, 0x007f, 0x0400, 0x0080, 0x7bff, 0x7f7f,
                                      0x3c00, 0x3f80, 0x3c01, 0x3f81, 0x7c00, 0x7f80, 0x7d55, 0x7fd5};
  std::mt19937_64 random(seed);
  for (int i = 0; i < 16; ++i)
    partners.push_back(static_cast<std::uint16_t>(random()));
  for (const Element element : {Element::float16, Element::bfloat16})
    for (const Operation operation : {Operation::sum, Operation::product, Operation::maximum})
      for (const std::uint16_t partner : partners)
        ASSERT_NO_FATAL_FAILURE(compare_all_halves(element, operation, partner, random));
}

#if defined(__x86_64__)
TEST(VectorisedKernels, KeepSubnormalHalvesWhereTheProgramFlushesSubnormals) {
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  const std::vector<std::uint16_t> partners{0x0000, 0x0001, 0x0400, 0x83ff};
  const unsigned mode = _mm_getcsr();
  std::mt19937_64 random(seed);
  for (const std::uint16_t partner : partners) {
    _mm_setcsr(mode | flush_to_zero | denormals_are_zero);
    compare_all_halves(Element::float16, Operation::sum, partner, random);
    _mm_setcsr(mode);
  }
}
#endif

TEST(VectorisedKernels, CopyAnyBytesAtAnyAlignment) {
  std::mt19937_64 random(seed);
  constexpr std::size_t sizes[] = {0,   1,    3,    63,   64,   65,   127,  255,  256,
                                   257, 1000, 2047, 2048, 2049, 2500, 4096, 4999, 70001};
  constexpr std::size_t offsets[] = {0, 1, 8, 63};
  for (const std::size_t bytes : sizes)
    for (const std::size_t offset : offsets)
      for (const Kernels& kernels : instruction_sets())
        for (const Store store : {Store::cached, Store::streaming, Store::demoted, Store::shared}) {
          const std::vector<std::byte> from = draw_many(Element::int8, Sample::any_bits, bytes, random);
          const Buffer to(bytes + 2, offset);
          std::fill_n(to.get(), bytes + 2, std::byte{0xa5});
          kernels.copy(to.get() + 1, from.data(), bytes, store);
          EXPECT_TRUE(std::equal(from.begin(), from.end(), to.get() + 1)) << kernels.instruction_set << " " << bytes;
          EXPECT_EQ(to.get()[0], std::byte{0xa5}) << kernels.instruction_set << " " << bytes;
          EXPECT_EQ(to.get()[bytes + 1], std::byte{0xa5}) << kernels.instruction_set << " " << bytes;
        }
}

TEST(VectorisedKernels, CopyingARangeToItselfDoesNothing) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> values = draw_many(Element::int8, Sample::any_bits, 500, random);
  const std::vector<std::byte> before = values;
  for (const Kernels& kernels : instruction_sets())
    for (const Store store : {Store::cached, Store::streaming, Store::demoted, Store::shared})
      kernels.copy(values.data(), values.data(), values.size(), store);
  EXPECT_EQ(values, before);
}

TEST(VectorisedKernels, UseTheBestInstructionSetOfThisProcessor) {
  EXPECT_STREQ(vectorised().instruction_set, instruction_sets().front().instruction_set);
}

} // namespace
} // namespace strata::kernel
