// SPDX-License-Identifier: BSD-3-Clause
#include "base/activity.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

std::string description(const Activity& activity, std::size_t room = 512) {
  std::string text(room, '?');
  describe(activity, text.data(), room);
  return text.c_str();
}

/// Rank 1 of 4 waits since the machine was started.
void let_wait(Activity& activity, std::int32_t awaited) {
  activity.rank = 1;
  activity.ranks = 4;
  activity.call = 17;
  activity.bytes = 8192;
  for (std::size_t i = 0; i < Activity::most_awaited; ++i)
    activity.awaited[i] = static_cast<std::int32_t>(2 * i);
  activity.awaited_count = awaited;
  activity.waiting = 1;
}

TEST(Activity, IsDescribedWhileNobodyWaits) { EXPECT_EQ(description(Activity()), "does not wait in strata"); }

TEST(Activity, NamesTheCommunicatorAndTheRanks) {
  Activity activity;
  let_wait(activity, 2);
  EXPECT_NE(description(activity).find(" s in call 17 (8192 bytes) on a communicator of 4 ranks, as its rank 1, for "
                                       "ranks 0, 2"),
            std::string::npos)
      << description(activity);
  put_name(activity, "MPI_COMM_WORLD");
  EXPECT_NE(description(activity).find(" bytes) on MPI_COMM_WORLD of 4 ranks, as its rank 1, for ranks 0, 2"),
            std::string::npos)
      << description(activity);
  put_name(activity, "");
  EXPECT_NE(description(activity).find(" on a communicator of 4 ranks"), std::string::npos) << description(activity);
}

TEST(Activity, CutsWhatIsTooLong) {
  Activity activity;
  let_wait(activity, 40);
  put_name(activity, std::string(100, 'n'));
  EXPECT_NE(description(activity).find(" on " + std::string(64, 'n') + " of 4 ranks"), std::string::npos);
  EXPECT_TRUE(description(activity).ends_with("26, 28, 30 and 24 more")) << description(activity);
  const std::string whole = description(activity);
  for (std::size_t room = 1; room < whole.size(); ++room)
    EXPECT_EQ(description(activity, room), whole.substr(0, room - 1));
}

} // namespace
} // namespace strata
