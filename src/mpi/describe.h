// SPDX-License-Identifier: BSD-3-Clause
// The JSON texts of the introspection (include/strata/strata_mpi.h).
#pragma once

#include "comm/context.h"

#include <string>

namespace strata::mpi {

/// {rank, ranks, nodes, hosts by rank, levels [{name, link, groups}], transports by rank, switches by rank, links
/// {origin, path}, notes, machine, kernels, options}
std::string describe(const comm::Context& context, const comm::Process& process);

/// {bytes, low, high, chosen, source, on_trial, predicted_seconds, runners_up [{name, seconds}], ways of each of these
/// [[texts]], note}
std::string describe_choice(const comm::Context& context, std::size_t bytes);

/// {hosts by node, latency and bandwidth by node and node}; an empty object when this job has measured nothing.
std::string describe_pairs(const comm::Context& context);

/// {algorithms, native, levels, transports, device, each {name: {calls or messages, bytes}}, contexts, segment_bytes}
std::string describe(const comm::Statistics& statistics);

} // namespace strata::mpi
