// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"
#include "base/text.h"
#include "tools/command_line.h"
#include "tools/perf.h"

#include <fmt/format.h>

#include <limits>

namespace strata::tools {
namespace {

constexpr const char* tool = "strata-perf";
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

/// What the flags say, before it is checked.
struct Words {
  std::string collective;
  std::vector<std::string> sizes;
  std::string element = "float32", operation = "sum", check = "full", memory = "host";
  std::int64_t iterations = 0;
  bool barrier = false, back_to_back = false;
};

Status add_sizes(std::vector<std::uint64_t>& sizes, std::string_view part) {
  const auto colon = part.find(':');
  const auto low = parse_bytes(std::string(part.substr(0, colon)));
  if (!low) return argument_error("size " + low.error().message);
  const auto high = colon == std::string_view::npos ? low : parse_bytes(std::string(part.substr(colon + 1)));
  if (!high) return argument_error("size " + high.error().message);
  if (*low == 0 || *high > most_bytes || *low > *high)
    return argument_error(fmt::format("size {} is not allowed (1 to 1024G, or LOW:HIGH)", printable(part)));
  for (std::uint64_t bytes = *low; bytes <= *high; bytes *= 2)
    sizes.push_back(bytes);
  return ok();
}

Status settle_types(PerfFlags& flags, const Words& words) {
  const auto element = type::element_named(words.element);
  if (!element || *element == type::Element::float16 || *element == type::Element::bfloat16)
    return argument_error(fmt::format("--type {} is not allowed (int8 to int64, uint8 to uint64, float32 or float64)",
                                      printable(words.element)));
  const auto operation = type::operation_named(words.operation);
  if (!operation) {
    std::string known;
    for (std::size_t i = 0; i < type::operation_kinds; ++i)
      known += fmt::format("{}{}", i == 0 ? "" : ", ", type::name_of(static_cast<type::Operation>(i)));
    return argument_error(fmt::format("--op {} is not allowed ({})", printable(words.operation), known));
  }
  if (!type::is_defined(*element, *operation))
    return argument_error(fmt::format("--op {} is not defined for {}", words.operation, words.element));
  flags.element = *element;
  flags.operation = *operation;
  return ok();
}

Status settle_sizes(PerfFlags& flags, const Words& words) {
  std::string text;
  for (const std::string& part : words.sizes)
    text += (text.empty() ? "" : ",") + part;
  auto sizes = sizes_from(text.empty() ? "8:64M" : text);
  if (!sizes) return sizes.error();
  const std::size_t element_bytes = type::bytes_of(flags.element);
  for (const std::uint64_t bytes : *sizes) {
    if (bytes % element_bytes != 0)
      return argument_error(fmt::format("size {} is no multiple of the {} bytes of {}", bytes, element_bytes,
                                        type::name_of(flags.element)));
    if (bytes / element_bytes > std::numeric_limits<int>::max())
      return argument_error(fmt::format("size {} is more than 2147483647 elements", bytes));
  }
  flags.sizes = std::move(*sizes);
  return ok();
}

void add_options(CommandLine& line, PerfFlags& flags, Words& words) {
  line.option("collective", words.collective, "COLLECTIVE", "allreduce").required().is_one_of({"allreduce"});
  line.words("sizes", words.sizes, "SIZES",
             "bytes of the vector: sizes such as 8,1K and ranges such as 4K:1M that double; 8:64M without");
  line.option("--type", words.element, "TYPE", "int8 to int64, uint8 to uint64, float32 (default) or float64");
  line.option("--op", words.operation, "OPERATION",
              "sum (default), product, minimum, maximum, logical_and, bitwise_xor, ...");
  line.flag("--in-place", flags.in_place, "the input is in the receive buffer");
  line.option("--memory", words.memory, "KIND",
              "where the vectors are: host (default), device or managed; those two also print --floor's copy")
      .is_one_of({"host", "device", "managed"});
  line.option("--mode", flags.mode, "MODE", "sets STRATA_MODE for this run: auto or always")
      .is_one_of({"auto", "always"});
  line.number("--iterations", words.iterations, 1, 1000000, "N", "pairs of batches for each size, instead of --time");
  line.number("--time", flags.seconds, 0.001, 3600, "SECONDS", "seconds for each size, 0.5 without");
  line.number("--settle", flags.settling, 0.001, 3600, "SECONDS",
              "the most that a size is called for first, until strata has decided; ten times --time without");
  const auto barrier = line.flag("--barrier", words.barrier, "the ranks meet in a barrier before each call");
  line.flag("--back-to-back", words.back_to_back, "call after call (default)").excludes(barrier);
  line.option("--check", words.check, "WHAT", "full (default): every element of every rank; or none")
      .is_one_of({"full", "none"});
  line.flag("--floor", flags.floor, "also time what a call cannot do without: copies, a flag, an exchange");
  line.flag("--reproducible", flags.reproducible, "also time STRATA_REPRODUCIBLE=1, and print its price");
  line.option("--json", flags.json_file, "FILE", "write the results to FILE as JSON");
  line.option("--svg", flags.svg_file, "FILE", "draw the results into FILE");
}

} // namespace

Result<std::vector<std::uint64_t>> sizes_from(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string_view part : split(text, ','))
    if (const Status added = add_sizes(sizes, trim(part)); !added) return added.error();
  return sizes;
}

std::optional<int> parse(PerfFlags& flags, int count, char** arguments) {
  CommandLine line(tool, "Times a collective of the MPI library and of strata in turn, in one process. Run it under "
                         "mpirun.");
  Words words;
  add_options(line, flags, words);
  if (const auto status = line.parse(count, arguments)) return status;
  flags.iterations = static_cast<std::uint64_t>(words.iterations);
  flags.pace = words.barrier ? Pace::barrier : Pace::back_to_back;
  flags.check = words.check == "full";
  flags.memory = words.memory == "device" ? Where::device : words.memory == "managed" ? Where::managed : Where::host;
  flags.floor = flags.floor || flags.memory != Where::host; // without a copy beside them, such figures say little
  Status settled = settle_types(flags, words);
  if (settled) settled = settle_sizes(flags, words);
  if (!settled) return complain(tool, settled.error().message, bad_usage);
  return std::nullopt;
}

} // namespace strata::tools
