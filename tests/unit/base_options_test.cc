// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include <unistd.h>

namespace strata {
namespace {

/// The environment without STRATA_ variables, and with those given, until the end of the test.
class OptionsTest : public testing::Test {
protected:
  OptionsTest() {
    std::vector<std::string> names;
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (const std::string line(*variable); line.starts_with("STRATA_")) {
        names.push_back(line.substr(0, line.find('=')));
        saved_[names.back()] = line.substr(line.find('=') + 1);
      }
    for (const std::string& name : names)
      unsetenv(name.c_str());
  }
  ~OptionsTest() override {
    for (const std::string& name : set_)
      unsetenv(name.c_str());
    for (const auto& [name, value] : saved_)
      setenv(name.c_str(), value.c_str(), 1);
  }
  void put(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  Options read() { return options_from_environment(complaints_); }

  std::vector<std::string> complaints_;

private:
  std::map<std::string, std::string> saved_;
  std::vector<std::string> set_;
};

const OptionRow& row_of(const std::string& name) {
  for (const OptionRow& row : option_table())
    if (name == row.name) return row;
  ADD_FAILURE() << "no option " << name;
  return option_table().front();
}

TEST_F(OptionsTest, EveryRowTakesItsOwnDefaultAndSaysWhatIsAllowed) {
  for (const OptionRow& row : option_table()) {
    Options options;
    EXPECT_TRUE(row.set(options, row.initial)) << row.name << " refuses its default " << row.initial;
    EXPECT_EQ(row.get(options), row.initial) << row.name;
    EXPECT_STRNE(row.allowed, "") << row.name;
    EXPECT_TRUE(std::string(row.text).ends_with(".")) << row.name;
  }
}

TEST_F(OptionsTest, DefaultsWithoutAnyVariable) {
  const Options options = read();
  EXPECT_TRUE(complaints_.empty());
  EXPECT_EQ(options.mode, Mode::automatic);
  EXPECT_EQ(options.transports, "shm,ucx,mpi");
  EXPECT_EQ(options.segment, 256u << 20);
  EXPECT_EQ(options.context_calls, 2u);
}

TEST_F(OptionsTest, ReadsEveryKindOfValue) {
  put("STRATA_MODE", "always");
  put("STRATA_LOG", "choice");
  put("STRATA_STATS", "1");
  put("STRATA_LEVELS", "2x2");
  put("STRATA_SLICE", "128K");
  put("STRATA_WINDOW", "4");
  put("STRATA_TRANSPORTS", "mpi, loop");
  const Options options = read();
  EXPECT_TRUE(complaints_.empty()) << complaints_.front();
  EXPECT_EQ(options.mode, Mode::always);
  EXPECT_TRUE(options.log_choice);
  EXPECT_TRUE(options.statistics);
  EXPECT_EQ(options.levels, "2x2");
  EXPECT_EQ(options.slice, 128u << 10);
  EXPECT_EQ(options.window, 4u);
  EXPECT_EQ(options.transports, "mpi,loop");
}

TEST_F(OptionsTest, NamesAMalformedValueWithWhatIsAllowedAndWhatIsUsed) {
  put("STRATA_SLICE", "12Q");
  EXPECT_EQ(read().slice, 0u);
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_EQ(complaints_[0], "STRATA_SLICE=12Q is not allowed (0, or 4K to 64M); using 0");
}

TEST_F(OptionsTest, RefusesValuesOutsideTheirLimits) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> refused{
      {"MODE", {"Auto", "on", "", "auto "}},
      {"LOG", {"choices", "choice,none", "choice,choice", ",", ""}},
      {"STATS", {"2", "yes", "01", ""}},
      {"SLICE", {"1", "4095", "65M", "-1", "18446744073709551616", "99999999999G", "K", "4KK", "0x1000", " 4K"}},
      {"WINDOW", {"65", "1K", "-1", "1.5", ""}},
      {"TRANSPORTS", {"", "shm,", "shm,shm", "tcp", "SHM"}},
      {"SEGMENT", {"0", "1023K", "65G"}},
      {"CONTEXT_CALLS", {"0", "1000001", "1e3"}},
      {"LEVELS", {"2x\n2"}},
  };
  for (const auto& [name, values] : refused)
    for (const char* value : values) {
      Options options;
      EXPECT_FALSE(row_of(name).set(options, value)) << name << "=" << value;
      EXPECT_EQ(row_of(name).get(options), row_of(name).initial) << name << "=" << value << " changed the value";
    }
}

TEST_F(OptionsTest, NamesTheNearestOptionForAnUnknownOne) {
  put("STRATA_SILCE", "4K");
  read();
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_EQ(complaints_[0], "STRATA_SILCE is not known (is STRATA_SLICE meant?); it is ignored");
}

TEST_F(OptionsTest, NamesAllOptionsWhenNoneIsNear) {
  put("STRATA_FROBNICATION", "1");
  read();
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_NE(complaints_[0].find("after STRATA_: MODE, TUNE"), std::string::npos) << complaints_[0];
}

TEST_F(OptionsTest, TakesAnEmptyVariableAsNotSet) {
  put("STRATA_MODE", "");
  put("STRATA_SLICE", "");
  read();
  EXPECT_TRUE(complaints_.empty());
  EXPECT_STREQ(option_origin(row_of("MODE")), "default");
}

TEST_F(OptionsTest, KeepsAComplaintToOneShortLine) {
  put("STRATA_MODE", std::string(100000, 'x') + "\n\033[31m");
  put("STRATA_" + std::string(100000, 'Y'), "1");
  read();
  ASSERT_EQ(complaints_.size(), 2u);
  for (const std::string& line : complaints_) {
    EXPECT_LT(line.size(), 512u); // most of it the names of all options
    EXPECT_EQ(line.find_first_of("\n\033"), std::string::npos);
  }
}

TEST_F(OptionsTest, TellsWhereAValueCameFrom) {
  put("STRATA_WINDOW", "8");
  put("STRATA_SLICE", "nonsense");
  EXPECT_STREQ(option_origin(row_of("WINDOW")), "environment");
  EXPECT_STREQ(option_origin(row_of("SLICE")), "default");
  EXPECT_STREQ(option_origin(row_of("MODE")), "default");
}

TEST_F(OptionsTest, AdoptsTheAgreedValuesOfAnotherRankAndNamesThem) {
  Options root;
  root.mode = Mode::always;
  root.levels = "0,1|2 / 0-2";
  root.segment = 1 << 20;
  Options mine;
  mine.window = 3;
  EXPECT_EQ(adopt_agreed(mine, agreed_text(root)), (std::vector<std::string>{"MODE", "LEVELS", "WINDOW"}));
  EXPECT_EQ(mine.mode, Mode::always);
  EXPECT_EQ(mine.levels, root.levels);
  EXPECT_EQ(mine.window, 0u);
  EXPECT_EQ(mine.segment, Options{}.segment) << "a local option was adopted";
  EXPECT_TRUE(adopt_agreed(mine, agreed_text(root)).empty());
}

TEST_F(OptionsTest, IgnoresWhatItCannotAdopt) {
  Options options;
  EXPECT_TRUE(adopt_agreed(options, "").empty());
  EXPECT_TRUE(adopt_agreed(options, "MODE\nMODE=sideways\n=\nNEWER=1\nSEGMENT=1M\n").empty());
  EXPECT_EQ(agreed_text(options), agreed_text(Options{}));
}

TEST_F(OptionsTest, NoValueCrashesAnyRow) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string alphabet = "0123456789KMG,x/|- autoshmnec=\n\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string value;
    for (auto length = random() % 24; length > 0; --length)
      value += alphabet[random() % alphabet.size()];
    for (const OptionRow& row : option_table()) {
      Options options;
      if (!row.set(options, value)) continue;
      Options again;
      EXPECT_TRUE(row.set(again, row.get(options))) << row.name << " refuses what it wrote for " << value;
      EXPECT_EQ(row.get(again), row.get(options));
    }
  }
}

TEST(Bytes, AreWrittenAsTheyAreRead) {
  for (std::uint64_t bytes : {0ull, 1ull, 1023ull, 1024ull, 1536ull, 3ull << 20, 64ull << 30, ~0ull}) {
    const auto parsed = parse_bytes(format_bytes(bytes));
    ASSERT_TRUE(parsed) << format_bytes(bytes);
    EXPECT_EQ(*parsed, bytes);
  }
  EXPECT_EQ(format_bytes(64 << 10), "64K");
  EXPECT_EQ(format_bytes(1500), "1500");
}

TEST(Bytes, RefusalNamesTheText) {
  const auto parsed = parse_bytes("12Q");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "\"12Q\" is no number of bytes (digits, and K, M or G at the end)");
}

TEST(Text, CountsASwapOfNeighboursAsOneEdit) {
  EXPECT_EQ(edit_distance("SLICE", "SILCE"), 1u);
  EXPECT_EQ(edit_distance("", "MODE"), 4u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

/// Sets a variable, or unsets it for nullptr, until the end of the test.
class Variable {
public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  void set(const char* value) { value != nullptr ? setenv(name_, value, 1) : unsetenv(name_); }

private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(CacheFolder, IsWhereTheUserKeepsOthers) {
  Variable cache("XDG_CACHE_HOME", "/scratch/cache"), home("HOME", "/home/ada");
  EXPECT_EQ(cache_folder(), "/scratch/cache/strata");
  cache.set("cache"); // Not a full path: to be ignored.
  EXPECT_EQ(cache_folder(), "/home/ada/.cache/strata");
  cache.set(nullptr);
  EXPECT_EQ(cache_folder(), "/home/ada/.cache/strata");
  home.set("");
  EXPECT_EQ(cache_folder(), "");
  home.set(nullptr);
  EXPECT_EQ(cache_folder(), "");
}

TEST(Log, WritesOneLineToStandardError) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int saved = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  log_line("ring on 4 ranks");
  dup2(saved, STDERR_FILENO);
  char buffer[64];
  const ssize_t length = read(ends[0], buffer, sizeof buffer);
  for (int descriptor : {ends[0], ends[1], saved})
    close(descriptor);
  ASSERT_GT(length, 0);
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(length)), "strata: ring on 4 ranks\n");
}

} // namespace
} // namespace strata
