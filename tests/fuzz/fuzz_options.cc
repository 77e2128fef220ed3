// SPDX-License-Identifier: BSD-3-Clause
// Values of options: the first byte says of which. What is taken is given back in a form that is taken again and means
// the same; what is not taken changes nothing. Also the agreed options as ranks send them to each other.
#include "base/options.h"
#include "fuzz.h"

using namespace strata;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto table = option_table();
  const std::string value = fuzz::text_of(data + 1, size - 1);
  if (data[0] >= table.size()) {
    Options options;
    (void)adopt_agreed(options, value);
    const std::string text = agreed_text(options);
    Options again;
    (void)adopt_agreed(again, text);
    fuzz::require(agreed_text(again) == text);
    return 0;
  }
  const OptionRow& row = table[data[0]];
  Options options;
  const std::string before = row.get(options);
  if (!row.set(options, value)) {
    fuzz::require(row.get(options) == before);
    return 0;
  }
  const std::string written = row.get(options);
  Options again;
  fuzz::require(row.set(again, written) && row.get(again) == written);
  return 0;
}
