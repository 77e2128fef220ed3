// SPDX-License-Identifier: BSD-3-Clause
// Heat maps of what was measured between pairs of nodes.
#pragma once

#include "base/result.h"
#include "topo/link_matrix.h"

#include <string>
#include <vector>

namespace strata::tools {

/// More nodes than this are not drawn: the picture would have more than a million cells.
inline constexpr std::int32_t most_drawn_nodes = 512;

/// Latency and bandwidth as two heat maps, rows from and columns to, as an SVG document: darker is more, a legend for
/// each, the values in the cells where there are few nodes. A pair that has not met is hatched. `hosts` by node. The
/// error says that there are too many nodes, or that this was built without pugixml.
Result<std::string> matrix_svg(const std::vector<std::string>& hosts, const topo::LinkMatrix& matrix);

} // namespace strata::tools
