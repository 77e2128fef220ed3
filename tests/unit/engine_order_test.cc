// SPDX-License-Identifier: BSD-3-Clause
// In which order a plan serves its slices: several are in flight at once, and older ones come first.
#include "plan_world.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace strata::engine {
namespace {

/// The slices of the recorded steps, in their order.
std::vector<int> slices_in(const trace::Recorder& recorder) {
  constexpr std::string_view key = "\"slice\":";
  std::string text;
  recorder.write({0, 0}, {}, [&](std::string_view piece) { text += piece; });
  std::vector<int> slices;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1))
    slices.push_back(std::atoi(text.c_str() + at + key.size()));
  return slices;
}

// Four slices over two levels, of which two may be in flight. Rank 0 goes on alone until it waits for the others; then
// each rank has one turn, so that all of them find work of both slices.
TEST(PlanOrder, LetsSlicesOverlapAndServesOlderOnesFirst) {
  constexpr auto element = type::Element::float32;
  constexpr auto operation = type::Operation::sum;
  constexpr std::int64_t slice = 1024, slices = 4;
  trace::Recorder recorder;
  Setting setting;
  setting.hierarchy = hierarchies::hierarchy(hierarchies::factors({2, 2}));
  setting.composition = *hier::composition_from("direct+direct", setting.hierarchy);
  setting.slice_bytes = slice * sizeof(float);
  setting.recorder = &recorder;
  World world(setting, 1);
  ASSERT_EQ(world.failure(), "");
  std::deque<vectors::Buffers> buffers;
  std::deque<Request> requests;
  for (std::size_t rank = 0; rank < world.ranks(); ++rank) {
    buffers.emplace_back(vectors::contribution(element, operation, static_cast<int>(rank), slices * slice, 1),
                         vectors::Buffers::Place::apart);
    Request& request = requests.emplace_back();
    request.input = buffers.back().input();
    request.output = buffers.back().output();
    request.elements = slices * slice;
    request.reducer = {kernel::scalar().find(element, operation), sizeof(float)};
    world.plan(rank).submit(request);
  }
  while (world.plan(0).advance_recorded()) {
  }
  std::vector<int> alone = slices_in(recorder);
  EXPECT_EQ(alone, (std::vector{0, 1})) << "it sends what it can of both, and nothing of the third";
  std::size_t known = alone.size();
  bool works_on_both = false;
  const auto all_complete = [&] {
    return std::all_of(requests.begin(), requests.end(), [](const Request& request) { return request.complete(); });
  };
  for (int turn = 0; turn < 1000 && !all_complete(); ++turn) {
    (void)world.plan(static_cast<std::size_t>(turn + 1) % world.ranks()).advance_recorded();
    const std::vector<int> all = slices_in(recorder);
    EXPECT_TRUE(std::is_sorted(all.begin() + static_cast<std::ptrdiff_t>(known), all.end())) << "in turn " << turn;
    if (all.size() > known) works_on_both |= all.back() > all[known];
    known = all.size();
  }
  EXPECT_TRUE(works_on_both);
  ASSERT_TRUE(all_complete());
  const auto wanted = vectors::reduction(element, operation, static_cast<int>(world.ranks()), slices * slice, 1);
  for (vectors::Buffers& one : buffers)
    EXPECT_EQ(vectors::difference(wanted, one.output(), sizeof(float)), "");
}

} // namespace
} // namespace strata::engine
