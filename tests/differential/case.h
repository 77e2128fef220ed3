// SPDX-License-Identifier: BSD-3-Clause
// One random call: what is drawn, how it is written down, and in which ways it can be made simpler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace differential {

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014); the same on all ranks.
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  /// 0 to `limit` - 1.
  int below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[next() % all.size()];
  }

private:
  std::uint64_t state_;
};

/// How the ranks of a communicator come from MPI_COMM_WORLD.
enum class Grouping { all, backwards, shuffled, halves, alone_and_others };
inline const char* const grouping_names[] = {"all", "backwards", "shuffled", "halves", "alone-and-others"};

/// What strata is told before it serves the communicator; empty: its default.
struct Options {
  std::string algorithm, slice, window, levels, transports, reproducible;
};

struct Case {
  Grouping grouping = Grouping::all;
  Options options;
  int type = 0;      ///< row of types() in values.h
  int operation = 0; ///< row of operations() in values.h
  long count = 1;
  bool in_place = false;
  int shift = 0;       ///< bytes by which the buffers are off a cache line
  bool spread = false; ///< floating point: of very different magnitudes instead of small whole numbers
  std::uint64_t salt = 0;
};

/// Draws the communicator and the options of some calls.
inline void draw_setting(Random& random, int ranks, Case& drawn) {
  drawn.grouping = static_cast<Grouping>(random.below(5));
  Options options;
  if (random.below(3) != 0) {
    options.algorithm = random.one_of<std::string>({"direct",
                                                    "ring",
                                                    "recursive_halving",
                                                    "recursive_doubling",
                                                    "binomial",
                                                    "direct.exchange",
                                                    "ring.exchange",
                                                    "recursive_halving.exchange",
                                                    "board",
                                                    "direct.leader,ring",
                                                    "double_binary_tree",
                                                    "bine",
                                                    "bine.exchange",
                                                    "bine.leader,bine",
                                                    "swing",
                                                    "torus",
                                                    "torus3d.exchange",
                                                    "recursive_multiplying",
                                                    "recursive_multiplying_8",
                                                    "circulant",
                                                    "circulant.exchange"});
    options.slice = random.one_of<std::string>({"0", "4K", "5000", "64K", "1M"});
    options.window = random.one_of<std::string>({"0", "1", "2", "7"});
  }
  if (random.below(3) == 0) options.transports = random.one_of<std::string>({"shm,ucx,mpi", "mpi", "ucx,mpi"});
  if (random.below(3) == 0)
    for (int factor = 2; factor < ranks; ++factor)
      if (ranks % factor == 0 && random.below(2) == 0)
        options.levels = std::to_string(factor) + "x" + std::to_string(ranks / factor);
  if (random.below(6) == 0) options.reproducible = "1";
  drawn.options = options;
}

inline void draw_call(Random& random, int types, int operations, Case& drawn) {
  drawn.type = random.below(types);
  drawn.operation = random.below(operations);
  const int magnitude = random.below(17);
  drawn.count = magnitude < 4 ? magnitude : 1 + static_cast<long>(random.next() % (1UL << magnitude));
  drawn.in_place = random.below(3) == 0;
  // Also what is not aligned to its elements: MPI libraries take that.
  drawn.shift = random.below(2) == 0 ? 0 : random.below(3) == 0 ? random.below(64) : 8 * random.below(8);
  drawn.spread = random.below(2) == 0;
  drawn.salt = random.next();
}

/// Simpler cases than `failed`, the simplest first; a failure that stays with one of them is easier to understand.
inline std::vector<Case> simpler(const Case& failed) {
  std::vector<Case> all;
  const auto add = [&](auto&& change) {
    Case changed = failed;
    change(changed);
    all.push_back(changed);
  };
  const Options& options = failed.options;
  if (failed.grouping != Grouping::all) add([](Case& c) { c.grouping = Grouping::all; });
  if (!options.levels.empty()) add([](Case& c) { c.options.levels.clear(); });
  if (!options.algorithm.empty()) add([](Case& c) { c.options.algorithm = c.options.slice = c.options.window = ""; });
  if (!options.transports.empty()) add([](Case& c) { c.options.transports.clear(); });
  if (!options.reproducible.empty()) add([](Case& c) { c.options.reproducible.clear(); });
  if (failed.in_place) add([](Case& c) { c.in_place = false; });
  if (failed.shift != 0) add([](Case& c) { c.shift = 0; });
  if (failed.spread) add([](Case& c) { c.spread = false; });
  for (const long less : {failed.count / 2, failed.count - failed.count / 4, failed.count - 1})
    if (less > 0 && less < failed.count) add([&](Case& c) { c.count = less; });
  return all;
}

} // namespace differential
