// SPDX-License-Identifier: BSD-3-Clause
#include "verify/expressions.h"

#include <algorithm>
#include <bit>

namespace strata::verify {

namespace {

constexpr std::size_t longest_text = 120;

std::uint64_t hash_of(std::span<const Expressions::Node> operands) {
  std::uint64_t hash = operands.size();
  for (Expressions::Node node : operands) {
    hash = (hash ^ node) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

} // namespace

Expressions::Expressions(std::size_t ranks)
    : ranks_(ranks), words_((ranks + 63) / 64), contributions_(ranks * words_), offset_(ranks + 1) {
  for (std::size_t rank = 0; rank < ranks; ++rank)
    contributions_[rank * words_ + rank / 64] = std::uint64_t{1} << (rank % 64);
}

Expressions::Node Expressions::reduce(std::span<const Node> operands) {
  if (operands.size() == 1) return operands[0];
  const std::uint64_t hash = hash_of(operands);
  for (auto [found, end] = by_hash_.equal_range(hash); found != end; ++found)
    if (std::ranges::equal(this->operands(found->second), operands)) return found->second;

  std::vector<std::uint64_t> all(words_);
  for (Node operand : operands)
    for (std::size_t word = 0; word < words_; ++word) {
      const std::uint64_t more = contributions(operand)[word];
      if (all[word] & more) return counted_twice;
      all[word] |= more;
    }
  const auto node = static_cast<Node>(offset_.size() - 1);
  contributions_.insert(contributions_.end(), all.begin(), all.end());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  offset_.push_back(operands_.size());
  by_hash_.emplace(hash, node);
  return node;
}

std::size_t Expressions::first_missing(Node node) const {
  const auto present = contributions(node);
  for (std::size_t word = 0; word < words_; ++word)
    if (~present[word]) return std::min(ranks_, word * 64 + static_cast<std::size_t>(std::countr_one(present[word])));
  return ranks_;
}

std::size_t Expressions::first_common(Node a, Node b) const {
  for (std::size_t word = 0; word < words_; ++word)
    if (const std::uint64_t both = contributions(a)[word] & contributions(b)[word])
      return word * 64 + static_cast<std::size_t>(std::countr_zero(both));
  return ranks_;
}

std::span<const Expressions::Node> Expressions::operands(Node node) const {
  return std::span(operands_).subspan(offset_[node], offset_[node + 1] - offset_[node]);
}

std::span<const std::uint64_t> Expressions::contributions(Node node) const {
  return std::span(contributions_).subspan(node * words_, words_);
}

void Expressions::append_text(Node node, std::string& text) const {
  if (text.size() > longest_text) return;
  if (node < ranks_) {
    text += std::to_string(node);
    return;
  }
  const char* separator = "(";
  for (Node operand : operands(node)) {
    text += separator;
    append_text(operand, text);
    separator = " + ";
  }
  text += ")";
}

std::string Expressions::to_text(Node node) const {
  if (node == undefined) return "nothing";
  std::string text;
  append_text(node, text);
  if (text.size() > longest_text) text = text.substr(0, longest_text) + " …";
  return text;
}

} // namespace strata::verify
