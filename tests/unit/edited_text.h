// SPDX-License-Identifier: BSD-3-Clause
// For tests of text formats: a text that is taken, edited in one place, and what its reader says then.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace strata {

/// Replaces `what`, which is there, in `text`.
inline std::string with(std::string text, const std::string& what, const std::string& other) {
  const auto place = text.find(what);
  EXPECT_NE(place, std::string::npos) << what;
  return place == std::string::npos ? text : text.replace(place, what.size(), other);
}

/// Why `read`, a reader of files, refuses the text of a file of this name.
template <typename Reader>
std::string reason_of(const Reader& read, const std::string& text, const std::string& file) {
  const auto value = read(text, file);
  return value ? "it was taken" : value.error().message;
}

} // namespace strata
