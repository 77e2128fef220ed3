// SPDX-License-Identifier: BSD-3-Clause
// What a value was computed from, as shared expression trees: equal trees are one node, so that comparing two values
// of two ranks is comparing two numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace strata::verify {

class Expressions {
public:
  using Node = std::uint32_t;
  /// The value of memory that nothing was written to.
  static constexpr Node undefined = ~Node{0};
  /// What reduce() returns when two operands hold the same rank's contribution.
  static constexpr Node counted_twice = undefined - 1;

  explicit Expressions(std::size_t ranks);

  /// The input of a rank.
  Node leaf(std::size_t rank) const { return static_cast<Node>(rank); }
  /// Combines from left to right and rounds once; another association is another expression. One operand is itself.
  Node reduce(std::span<const Node> operands);

  /// The lowest rank whose contribution the node lacks, or the number of ranks.
  std::size_t first_missing(Node node) const;
  /// A rank that contributes to both, or the number of ranks.
  std::size_t first_common(Node a, Node b) const;

  /// Such as "(0 + (1 + 2) + 3)", cut to some length.
  std::string to_text(Node node) const;

private:
  std::span<const Node> operands(Node node) const;
  std::span<const std::uint64_t> contributions(Node node) const;
  void append_text(Node node, std::string& text) const;

  std::size_t ranks_;
  std::size_t words_;                        // of a set of ranks
  std::vector<std::uint64_t> contributions_; // words_ per node
  std::vector<Node> operands_;               // of all nodes
  std::vector<std::size_t> offset_;          // per node and one more, into operands_
  std::unordered_multimap<std::uint64_t, Node> by_hash_;
};

} // namespace strata::verify
