// SPDX-License-Identifier: BSD-3-Clause
// In place of matrix.cc where pugixml is missing.
#include "tools/matrix.h"

namespace strata::tools {

Result<std::string> matrix_svg(const std::vector<std::string>&, const topo::LinkMatrix&) {
  return Error{ErrorKind::unsupported, "pairs of nodes cannot be drawn: built without pugixml"};
}

} // namespace strata::tools
