// SPDX-License-Identifier: BSD-3-Clause
// Tables of ways: what is taken is written in a form that is taken again and means the same; what is not is refused
// with the place and a reason.
#include "fuzz/fuzz.h"
#include "tune/table.h"

using namespace strata;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = tune::table_from(fuzz::text_of(data, size), "file");
  if (!table) {
    fuzz::require(table.error().message.starts_with("file:"));
    fuzz::require(table.error().message.find('\n') == std::string::npos);
    return 0;
  }
  const std::string written = tune::to_text(*table);
  const auto again = tune::table_from(written, "written");
  fuzz::require(again && *again == *table && tune::to_text(*again) == written);
  fuzz::require(tune::misfit(*table, table->machine).empty());
  for (const tune::TableRow& row : table->rows)
    fuzz::require(tune::find(*table, row.up_to) == &row.way);
  return 0;
}
