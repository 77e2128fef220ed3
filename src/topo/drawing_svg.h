// SPDX-License-Identifier: BSD-3-Clause
// The picture of a hierarchy. Needs pugixml, so it is not in the core: strata-info links it.
#pragma once

#include "topo/hierarchy.h"

namespace strata::topo {

/// The tree as an SVG document: a box per group, nested, its colour the kind of its link, a small box per rank.
/// `labels` and `remarks` as for to_text; each rank's label is also shown where the mouse rests on it. The `lines`
/// stand below the legend.
std::string to_svg(const Hierarchy& hierarchy, std::span<const std::string> labels, const Remarks& remarks = {},
                   std::span<const std::string> lines = {});

} // namespace strata::topo
