// SPDX-License-Identifier: BSD-3-Clause
// Tables of ways: what is taken is written in a form that is taken again and means the same; what is not is refused
// with the place and a reason.
#include "fuzz.h"
#include "tune/table.h"

using namespace strata;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = fuzz::read_as_file(fuzz::text_of(data, size), tune::table_from);
  if (!table) return 0;
  fuzz::require(tune::misfit(*table, table->machine).empty());
  for (const tune::TableRow& row : table->rows) {
    const auto way = tune::way_from(tune::to_text(row.way));
    fuzz::require(way && *way == row.way);
    fuzz::require(tune::find(*table, row.up_to) == &row);
  }
  return 0;
}
