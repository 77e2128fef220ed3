// SPDX-License-Identifier: BSD-3-Clause
// The main program of all unit tests. With --tap it prints one TAP line per test, which is what `make check` reads;
// without, GoogleTest's own report for a person. All of GoogleTest's options work in both.

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>

namespace {

class TapPrinter : public testing::EmptyTestEventListener {
  void OnTestIterationStart(const testing::UnitTest& all, int) override {
    number_ = 0;
    std::printf("1..%d\n", all.test_to_run_count());
    std::fflush(stdout);
  }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.skipped())
      reason_ = first_line_of(result.message());
    else if (result.failed())
      print_comment(result);
  }

  void OnTestStart(const testing::TestInfo&) override { reason_.clear(); }

  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    std::printf("%s %d - %s.%s", result.Failed() ? "not ok" : "ok", ++number_, test.test_suite_name(), test.name());
    if (result.Skipped()) std::printf(" # SKIP %s", reason_.c_str());
    std::printf("\n");
    if (result.elapsed_time() >= long_milliseconds)
      std::printf("# that took %.0f s\n", static_cast<double>(result.elapsed_time()) / 1000);
    std::fflush(stdout);
  }

  static std::string first_line_of(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

  static void print_comment(const testing::TestPartResult& result) {
    std::istringstream lines(result.message());
    std::printf("# %s:%d\n", result.file_name() ? result.file_name() : "unknown", result.line_number());
    for (std::string line; std::getline(lines, line);)
      std::printf("#   %s\n", line.c_str());
  }

  static constexpr testing::TimeInMillis long_milliseconds = 5000;

  int number_ = 0;
  std::string reason_;
};

} // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool tap = argc > 1 && std::string_view(argv[1]) == "--tap";
  if (tap) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new TapPrinter);
  }
  const int status = RUN_ALL_TESTS();
  // TAP's lines tell what failed; the exit status is left to those who find more at the end, such as LeakSanitizer.
  return tap ? 0 : status;
}
