// SPDX-License-Identifier: BSD-3-Clause
// Making a Context: a few exchanges after which all ranks know the same facts, or all have the same error.
//
//   1. cards: version, options, place in the machine, address of the segment
//   2. who could map whose segment, and, where that is not all of a machine, segments handed over; nodes are groups of
//      mutual successes (context_neighbours.cc)
//   3. only where a context spans nodes: addresses of the transport between them
//   4. likewise: what rank 0 knows of the links from before
//   5. if there is one: rank 0's table of ways
#include "comm/context.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace strata::comm {

/// What a rank says of itself first. Plain bytes: all ranks run the same build, which `version` proves.
struct Context::Card {
  std::uint32_t version;
  std::uint32_t segment_address_bytes;
  std::uint64_t key;
  std::uint64_t socket_space;
  CoreShare cores;
  topo::RankFacts place;
  char segment_address[60];
  char host[64];
  char network_switch[68];
  std::uint32_t has_device, can_demote, refuses_native;
  std::uint32_t options_bytes;
  char options[1020]; ///< as far as they fit
};

namespace {

constexpr std::uint32_t card_version = 7;

template <std::size_t n>
void put(char (&field)[n], const std::string& text) {
  std::memcpy(field, text.data(), std::min(n - 1, text.size()));
}

template <std::size_t n>
std::string text_of(const char (&field)[n]) {
  return std::string(field, ::strnlen(field, n));
}

std::string host_name() {
  char name[64] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

} // namespace

/// An error of all ranks, in the words of those that it is about; empty on the others. Takes no memory.
Error Context::own_words(Error error, std::string own) noexcept {
  if (!own.empty()) error.message = std::move(own);
  return error;
}

Result<std::unique_ptr<Context>> Context::create(Process& process, std::shared_ptr<AllOrNone> bootstrap) {
  std::unique_ptr<Context> context;
  Status made = ok();
  std::string why_blind;
  const auto steps = [&] {
    why_blind = process.why_blind();
    if (!why_blind.empty() && bootstrap->has_native()) return bootstrap->stay_away();
    if (!why_blind.empty() && process.options().log_choice) process.say_once(why_blind);
    context.reset(new Context(process, bootstrap));
    made = context->set_up();
  };
  if (Status ran = bootstrap->run(steps); !ran) return own_words(std::move(ran).error(), std::move(why_blind));
  if (!made) return std::move(made).error();
  return context;
}

Status Context::set_up() {
  if (Status shared = share_cards(); !shared) return shared;
  if (Status found = find_neighbours(); !found) return found;
  if (Status settled = settle_hierarchy(); !settled) return settled;
  if (Status shared = share_profile(); !shared) return shared;
  return share_table();
}

bool Context::wants(const std::string& transport) const {
  return ("," + options_.transports + ",").find("," + transport + ",") != std::string::npos;
}

bool Context::all_agree(bool mine) {
  auto all = gather(*bootstrap_, static_cast<std::uint8_t>(mine));
  return all && std::all_of(all->begin(), all->end(), [](std::uint8_t yes) { return yes != 0; });
}

Status Context::share_cards() {
  auto mine = std::make_unique<Card>();
  std::memset(static_cast<void*>(mine.get()), 0, sizeof(Card));
  mine->version = card_version;
  mine->key = key_;
  mine->socket_space = process_.socket_space();
  mine->cores = process_.facts().cores;
  mine->place = process_.facts().place;
  mine->has_device = device_ != nullptr ? 1 : 0;
  mine->refuses_native = device_ != nullptr && options_.device_native == DeviceNative::refuse ? 1 : 0;
  mine->can_demote = transport::shm::ParityBoard::can_demote() ? 1 : 0;
  put(mine->host, host_name());
  put(mine->network_switch, process_.facts().network_switch);
  const std::string options = agreed_text(options_);
  mine->options_bytes = static_cast<std::uint32_t>(options.size());
  put(mine->options, options);
  Error why_not;
  // Offered even if this rank's options exclude it: it is rank 0's that count, and they are not known yet.
  if (transport::Transport* memory = process_.shared_memory(&why_not); memory != nullptr) {
    mine->segment_address_bytes = static_cast<std::uint32_t>(memory->address().size());
    std::memcpy(mine->segment_address, memory->address().data(),
                std::min(sizeof mine->segment_address, memory->address().size()));
  } else {
    notes_.push_back(fmt::format("no shared memory on rank {}: {}", rank_, why_not.message));
  }
  auto cards = gather(*bootstrap_, *mine);
  if (!cards) return cards.error();

  situation_.can_demote = true;
  std::vector<std::string> texts;
  bool all_fit = true;
  for (std::size_t r = 0; r < cards->size(); ++r) {
    const Card& card = (*cards)[r];
    if (card.version != card_version)
      return Error{ErrorKind::peer,
                   fmt::format("rank {} runs another version of strata ({}, here {})", r, card.version, card_version)};
    all_fit &= card.options_bytes < sizeof card.options;
    texts.push_back(text_of(card.options));
    keys_.push_back(card.key);
    socket_space_.push_back(card.socket_space);
    hosts_.push_back(text_of(card.host));
    switches_.push_back(text_of(card.network_switch));
    core_shares_.push_back(card.cores);
    facts_.push_back(card.place);
    device_use_.possible |= card.has_device != 0;
    situation_.can_demote &= card.can_demote != 0;
    situation_.native_is_refused |= card.refuses_native != 0;
    addresses_.push_back(
        {card.key, std::string(card.segment_address,
                               std::min<std::size_t>(card.segment_address_bytes, sizeof card.segment_address))});
  }
  if (all_fit) return agree_on_options(texts);
  auto long_texts = gather_text(*bootstrap_, options);
  if (!long_texts) return long_texts.error();
  return agree_on_options(*long_texts);
}

Status Context::agree_on_options(const std::vector<std::string>& texts) {
  for (std::size_t r = 1; r < texts.size(); ++r) {
    if (texts[r] == texts[0]) continue;
    Options theirs = options_;
    (void)adopt_agreed(theirs, texts[r]);
    for (const std::string& name : adopt_agreed(theirs, texts[0]))
      warnings_.push_back(fmt::format("rank {} has another STRATA_{} than rank 0; rank 0's is used", r, name));
  }
  (void)adopt_agreed(options_, texts[0]);
  return ok();
}

Status Context::link_between_nodes(const std::vector<bool>& here) {
  std::vector<bool> there(here.size());
  for (std::size_t r = 0; r < here.size(); ++r)
    there[r] = !here[r];
  std::string names = options_.transports + ",";
  for (std::size_t begin = 0, end = 0; (end = names.find(',', begin)) != std::string::npos; begin = end + 1) {
    const std::string name = names.substr(begin, end - begin);
    if (name.empty() || name == "shm" || name == "loop") continue;
    bool all_have_it = false;
    if (Status tried = try_between_nodes(name, there, &all_have_it); !tried) return tried;
    if (all_have_it) return ok();
  }
  return Error{
      ErrorKind::unsupported,
      fmt::format("none of the transports in STRATA_TRANSPORTS={} works between these nodes", options_.transports)};
}

Status Context::try_between_nodes(const std::string& name, const std::vector<bool>& there, bool* all_have_it) {
  std::string why_not;
  transport::Transport* transport = process_.between_nodes(name, &why_not);
  auto addresses = gather_text(*bootstrap_, transport != nullptr ? transport->address() : std::string());
  if (!addresses) return addresses.error();
  for (std::size_t r = 0; r < addresses->size(); ++r) {
    addresses_[r] = {keys_[r], (*addresses)[r]};
    if (!(*addresses)[r].empty()) continue;
    notes_.push_back(fmt::format("transport {} is not used: it did not start on rank {} ({})", name, r, hosts_[r]));
    if (transport == nullptr) notes_.back() += ": " + why_not;
    return ok();
  }
  struct Linked {
    std::uint64_t eager_limit; // decides on sizes of slices, so all must count with the same
    std::uint8_t linked;
  };
  auto links = transport->link(addresses_, rank_, there);
  auto all = gather(*bootstrap_, Linked{transport->eager_limit(), static_cast<std::uint8_t>(links ? 1 : 0)});
  if (!all) return all.error();
  if (std::any_of(all->begin(), all->end(), [](const Linked& one) { return one.linked == 0; })) {
    notes_.push_back(fmt::format("transport {} is not used: {}", name,
                                 links ? "another rank could not link" : links.error().message));
    return ok();
  }
  *all_have_it = true;
  const auto tightest = std::min_element(all->begin(), all->end(), [](const Linked& one, const Linked& other) {
    return one.eager_limit - 1 < other.eager_limit - 1; // 0 is no limit
  });
  situation_.wire_bytes = tune::wire_bytes_for(tightest->eager_limit);
  for (std::size_t r = 0; r < there.size(); ++r) {
    if (!there[r]) continue;
    route_[r] = static_cast<std::uint8_t>(all_links_.size());
    transport_names_[r] = name;
  }
  links_.push_back(std::move(*links));
  all_links_.push_back(links_.back().get());
  link_names_.push_back(name);
  return ok();
}

Status Context::settle_hierarchy() {
  topo::Hierarchy hierarchy = topo::hierarchy_from(facts_);
  if (options_.reproducible) {
    // Where operands meet, all of them are to meet, in the order of the ranks.
    hierarchy = topo::flat_hierarchy(facts_);
    if (!options_.levels.empty() || !options_.algorithm.empty())
      warnings_.push_back("STRATA_LEVELS and STRATA_ALGORITHM are not used with STRATA_REPRODUCIBLE=1");
    options_.algorithm.clear();
  } else if (!options_.levels.empty()) {
    auto by_hand = topo::hierarchy_by_hand(options_.levels, facts_);
    if (by_hand)
      hierarchy = std::move(*by_hand);
    else
      warnings_.push_back(fmt::format("STRATA_LEVELS={} is not used: {}", options_.levels, by_hand.error().message));
  }
  if (const std::string& wanted = options_.algorithm; !wanted.empty() && wanted != "native" && wanted != "board") {
    if (auto composition = hier::composition_from(wanted, hierarchy); !composition) {
      warnings_.push_back(fmt::format("STRATA_ALGORITHM={} is not used: {}", wanted, composition.error().message));
      options_.algorithm.clear();
    }
  }
  situation_.job = tune::shape_of(hierarchy, facts_, usable_cores_);
  situation_.parameters = tune::default_parameters();
  situation_.board_possible = neighbours_ != nullptr && situation_.job.nodes == 1;
  situation_.can_demote &= situation_.board_possible && crowding_ == engine::Crowding::roomy;
  situation_.native_possible = bootstrap_->has_native() && !options_.reproducible;
  prepare_probe();
  expect_devices();
  return ok();
}

} // namespace strata::comm
