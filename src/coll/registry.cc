// SPDX-License-Identifier: BSD-3-Clause
#include "coll/families.h"

#include <array>

namespace strata::coll {

std::span<const Algorithm> registry() {
  static const std::array rows = {direct(),
                                  ring(),
                                  recursive_doubling(),
                                  recursive_halving(),
                                  binomial(),
                                  double_binary_tree(),
                                  bine(),
                                  swing(),
                                  torus(),
                                  torus3d(),
                                  recursive_multiplying(),
                                  recursive_multiplying_8(),
                                  circulant()};
  return rows;
}

const Algorithm* find(std::string_view name) {
  for (const Algorithm& row : registry())
    if (row.name == name) return &row;
  return nullptr;
}

} // namespace strata::coll
