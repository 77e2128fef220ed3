// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace strata {

/// A folder that nobody could have put there before, for its owner alone. Whoever makes it removes it.
inline std::filesystem::path new_folder(const std::string& name) {
  std::string path = (std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string();
  EXPECT_NE(mkdtemp(path.data()), nullptr) << path;
  return path;
}

} // namespace strata
