// SPDX-License-Identifier: BSD-3-Clause
// What is recorded of plans, and how timelines are written.
#include "plan_world.h"
#include "trace/recorder.h"

#include <gtest/gtest.h>

namespace strata::trace {
namespace {

std::string written(const Recorder& recorder, Clock clock = {}) {
  std::string text;
  recorder.write({3, 7}, clock, [&](std::string_view piece) { text += piece; });
  return text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

Event call(std::uint64_t number, std::int64_t begin, std::int64_t end) {
  return {Event::Kind::call, 0, begin, end, number, 0, 8};
}

/// Calls 1 to `calls`.
void record_calls(Recorder& recorder, std::uint64_t calls) {
  recorder.call_name("ring", 2);
  for (std::uint64_t number = 1; number <= calls; ++number)
    recorder.record(call(number, 0, 1));
}

TEST(Recorder, KeepsTheLastEventsAndCountsThoseThatItDropped) {
  Recorder recorder(4);
  record_calls(recorder, 6);
  EXPECT_EQ(recorder.recorded(), 6U);
  EXPECT_EQ(recorder.dropped(), 2U);
  const std::string text = written(recorder);
  EXPECT_EQ(count(text, "\"call\":2,"), 0U) << text;
  EXPECT_LT(text.find("\"call\":3,"), text.find("\"call\":6,")) << text;
  EXPECT_EQ(count(text, "\"ph\":\"X\""), 4U);
}

TEST(Recorder, DropsNothingBeforeItIsFull) {
  Recorder recorder(4);
  record_calls(recorder, 4);
  EXPECT_EQ(recorder.dropped(), 0U);
}

TEST(Recorder, WritesMicrosecondsOfTheCommonClock) {
  Recorder recorder;
  recorder.call_name("ring", 2);
  recorder.record(call(1, 5'002'500, 5'004'000));
  EXPECT_NE(written(recorder, {5'000'000}).find("\"pid\":3,\"tid\":7,\"ts\":2.5,\"dur\":1.5,"), std::string::npos)
      << written(recorder, {5'000'000});
}

TEST(Recorder, KnowsANameOnce) {
  Recorder recorder;
  EXPECT_EQ(recorder.call_name("ring", 2), 0U);
  EXPECT_EQ(recorder.call_name("ring", 4), 1U);
  EXPECT_EQ(recorder.call_name("ring", 2), 0U);
}

TEST(Recorder, NamesTheStepsOfEqualProgramsOnce) {
  const auto program = [](std::int32_t peer) {
    sched::ProgramBuilder builder(0, 4);
    builder.reduce(sched::Range{}, sched::output, {sched::from(sched::input), sched::from(peer, {1, 0, 0})}, {1, 0, 0});
    return std::move(builder).finish();
  };
  Recorder recorder;
  EXPECT_EQ(recorder.step_names(program(2)), 0U);
  EXPECT_EQ(recorder.step_names(program(1)), 1U);
  EXPECT_EQ(recorder.step_names(program(2)), 0U);
  EXPECT_EQ(recorder.step_names(program(1)), 1U);
  EXPECT_EQ(recorder.step_names(program(3)), 2U) << "and keeps them once";
}

TEST(RecordedCall, IsRecordedAtTheEndOfItsScope) {
  Recorder recorder;
  {
    const RecordedCall one(&recorder, "ring", 2, 1, 8);
    EXPECT_EQ(recorder.recorded(), 0U);
  }
  EXPECT_EQ(recorder.recorded(), 1U);
}

TEST(TimelineText, QuotesWhatJsonDoesNotAllow) { EXPECT_EQ(json_string("a\"b\\c\n\xc3"), "\"a\\\"b\\\\c??\""); }

TEST(TimelineText, NamesAStepByItsProgram) {
  sched::ProgramBuilder builder(0, 3);
  builder.reduce(sched::Range{}, sched::output, {sched::from(sched::input), sched::from(2, {1, 0, 0})}, {1, 0, 0});
  const sched::Program program = std::move(builder).finish();
  const StepName name = step_name(program, 0);
  EXPECT_EQ(name.members.find(R"("name":"reduce","cat":"level 1","args":{"step":"0: reduce output)"), 0U)
      << name.members;
  EXPECT_NE(name.members.find("\"peers\":[2],"), std::string::npos) << name.members;
}

// ---- plans that are recorded ----------------------------------------------------------------------------------------

/// Steps of the programs of all ranks that move bytes, over all slices.
std::uint64_t step_runs(const engine::Setting& setting, std::int64_t elements, std::int64_t slices) {
  const hier::AllReduce all_reduce(setting.hierarchy, setting.composition);
  std::uint64_t runs = 0;
  for (int rank = 0; rank < setting.hierarchy.ranks; ++rank)
    for (const sched::Step& step : all_reduce.program(rank).steps)
      if (sched::element_at(step.range.begin, elements) != sched::element_at(step.range.end, elements))
        runs += static_cast<std::uint64_t>(slices);
  return runs;
}

TEST(RecordedPlans, RecordEachStepOfEachSliceOnce) {
  for (const engine::Carriage carriage : engine::carriages)
    for (const char* composition : {"direct+ring", "ring+recursive_doubling.exchange", "direct.leader+direct"}) {
      Recorder recorder(1 << 20);
      engine::Setting setting;
      setting.hierarchy = hierarchies::hierarchy(hierarchies::factors({4, 3}));
      setting.composition = *hier::composition_from(composition, setting.hierarchy);
      setting.carriage = carriage;
      setting.recorder = &recorder;
      engine::World world(setting, 12);
      ASSERT_EQ(world.run({{type::Element::float32, type::Operation::sum, 3072}}), "") << setting.describe();
      const std::string text = written(recorder);
      EXPECT_EQ(count(text, "\"cat\":\"level "), step_runs(setting, 1024, 3)) << setting.describe();
      EXPECT_EQ(count(text, "\"slice\":2,"), step_runs(setting, 1024, 1)) << setting.describe();
    }
}

TEST(RecordedPlans, RecordNothingForRangesWithoutElements) {
  Recorder recorder;
  engine::Setting setting;
  setting.hierarchy = hierarchies::hierarchy(hierarchies::factors({4}));
  setting.composition = *hier::composition_from("ring", setting.hierarchy);
  setting.recorder = &recorder;
  engine::World world(setting, 12);
  ASSERT_EQ(world.run({{type::Element::float32, type::Operation::sum, 1}}), "");
  EXPECT_EQ(count(written(recorder), "\"cat\":\"level "), step_runs(setting, 1, 1));
}

} // namespace
} // namespace strata::trace
