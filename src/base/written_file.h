// SPDX-License-Identifier: BSD-3-Clause
// Files that are there whole or not at all.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace strata {

/// What to do with a file that is there.
enum class Existing : bool { replaced, kept };

/// A file that is being written beside its place, and takes it when it is finished: nobody sees half of it, and a
/// failure leaves what was there.
class WrittenFile {
public:
  /// Refuses to replace what is no regular file: a directory, a device, a symbolic link; and any, if it is to be kept.
  static Result<WrittenFile> begin(const std::string& file, Existing existing = Existing::replaced);
  WrittenFile(WrittenFile&& other) noexcept;
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  /// Removes what was written unless finish() was called.
  ~WrittenFile();

  /// After a failure nothing more is written, and finish() tells it.
  void append(std::string_view text);
  Status finish();

private:
  WrittenFile(std::string file, std::string beside, Existing existing, int descriptor);

  std::string file_, beside_;
  Existing existing_;
  int descriptor_ = -1; ///< -1: finished, or moved from
  int trouble_ = 0;     ///< errno of the first failure
};

/// Whether that would be refused as things stand, before there is a text; it leaves nothing behind.
Status check_writable(const std::string& file, Existing existing);

/// All of it at once.
Status write_whole(const std::string& file, std::string_view text, Existing existing = Existing::replaced);

} // namespace strata
