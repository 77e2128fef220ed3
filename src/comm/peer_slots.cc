// SPDX-License-Identifier: BSD-3-Clause
#include "comm/peer_slots.h"

#include "base/rounding.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace strata::comm {
namespace {

// An announcement begins with the device's place in the machine, which processes number as they like.
constexpr char end_of_address = '\n';
constexpr std::string_view and_waits = " waits";

constexpr std::size_t alignment = 256; // of the parts

/// What CUDA maps for another process is whole pages of this size, whatever else lies in them (CUDA C++ Programming
/// Guide, interprocess communication).
std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t page = std::size_t{2} << 20;
  return rounded_up(bytes, page);
}

} // namespace

Result<std::unique_ptr<PeerSlots>> PeerSlots::make(Device& device, std::int32_t number,
                                                   const engine::DeviceNeeds& needs, std::uint32_t window,
                                                   Flags flags) {
  std::unique_ptr<PeerSlots> slots(new PeerSlots(device, number, needs));
  if (const Status prepared = slots->prepare(window, flags); !prepared) return prepared.error();
  return slots;
}

Status PeerSlots::prepare(std::uint32_t window, Flags flags) {
  device::Driver& driver = device_.driver();
  const auto facts = driver.facts(number_);
  if (!facts) return facts.error();
  rooms_ = rounded_up(needs_.slots, alignment);
  operands_.resize(needs_.leaves_the_node ? 2 : 1);
  std::size_t end = rooms_ + rounded_up(window * needs_.room, alignment);
  for (Operands& operands : operands_) {
    operands.begin = end;
    end += rounded_up(needs_.operands, alignment);
  }
  const std::size_t bytes = whole_pages(end);
  if (!device_.memory().take(bytes))
    return Error{ErrorKind::resource,
                 fmt::format("no {} bytes left of {} (STRATA_DEVICE_MEMORY)", bytes, device_.memory().most_bytes())};
  bytes_ = bytes;
  const auto memory = driver.allocate(number_, bytes);
  if (!memory) return memory.error();
  begin_ = static_cast<std::byte*>(*memory);
  std::string exported;
  if (needs_.slots != 0) {
    auto handle = driver.export_memory(begin_);
    if (!handle && !needs_.straight) return handle.error();
    if (!handle) why_not_exported_ = handle.error().message;
    if (handle) exported = std::move(*handle);
  }
  auto stream = driver.make_stream(number_);
  if (!stream) return stream.error();
  stream_ = std::move(*stream);
  if (needs_.leaves_the_node)
    if (const Status made = prepare_copies(window); !made) return made;
  bool waits = flags == Flags::wanted && !exported.empty();
  if (waits) {
    if (const Status works = prepare_flags(); !works) {
      other_stream_.reset();
      why_no_flags_ = works.error().message;
      waits = false;
    }
  }
  if (!exported.empty())
    announcement_ = fmt::format("{}{}{}{}", facts->pci_address, waits ? and_waits : "", end_of_address, exported);
  while (marks_.size() < engine::DeviceQueue::marks) {
    auto event = driver.make_event(number_);
    if (!event) return event.error();
    marks_.push_back(std::move(*event));
  }
  reached_.resize(needs_.inputs);
  return ok();
}

Status PeerSlots::prepare_copies(std::uint32_t window) {
  device::Driver& driver = device_.driver();
  for (auto* const stream : {&to_host_, &from_host_}) {
    auto made = driver.make_stream(number_);
    if (!made) return made.error();
    *stream = std::move(*made);
  }
  copies_.resize(window);
  std::vector<std::unique_ptr<device::Event>*> events{&end_of_queue_};
  for (Copies& copies : copies_)
    events.push_back(&copies.done);
  for (Operands& operands : operands_)
    events.insert(events.end(), {&operands.copied, &operands.used});
  for (auto* const event : events) {
    auto made = driver.make_event(number_);
    if (!made) return made.error();
    *event = std::move(*made);
  }
  return ok();
}

Status PeerSlots::clear_flags() {
  if (needs_.flag_bytes == 0) return stream_->synchronise(); // this rank waits for nobody
  const std::vector<std::byte> zeros(needs_.flag_bytes);     // until the stream has read them
  if (const Status cleared = stream_->copy(begin_ + needs_.first_flag, zeros.data(), zeros.size()); !cleared)
    return cleared;
  return stream_->synchronise();
}

Status PeerSlots::forget_tried_flags() {
  failure_.forget();
  return clear_flags();
}

/// Flags are 0 before anybody can set one. Unsupported, where a stream cannot wait for memory of the device.
Status PeerSlots::prepare_flags() {
  auto other = device_.driver().make_stream(number_);
  if (!other) return other.error();
  other_stream_ = std::move(*other);
  awaited_.resize(std::max(engine::DeviceQueue::marks * std::max<std::size_t>(needs_.inputs, 1),
                           needs_.flag_bytes / sizeof(std::uint32_t)));
  if (const Status cleared = clear_flags(); !cleared) return cleared;
  auto* const word = reinterpret_cast<std::uint32_t*>(begin_); // in the room of the channel's own header
  Status works = stream_->set_word(word, 1);
  if (works) works = stream_->wait_for_word(word, 1);
  if (const Status done = stream_->synchronise(); !done) return done;
  return works;
}

PeerSlots::Announced PeerSlots::parsed(std::string_view announced) {
  const std::size_t end = announced.find(end_of_address);
  if (end == std::string_view::npos) return {};
  Announced found{announced.substr(0, end), announced.substr(0, end).ends_with(and_waits), announced.substr(end + 1)};
  if (found.waits) found.address.remove_suffix(and_waits.size());
  return found;
}

void PeerSlots::give_up() {
  // The oldest first, so that none goes back.
  for (std::size_t i = 0; other_stream_ && i < awaited_.size(); ++i)
    if (const Awaited& awaited = awaited_[(next_awaited_ + i) % awaited_.size()]; awaited.flag != nullptr)
      (void)other_stream_->set_word(awaited.flag, awaited.value); // as well as can be
  if (other_stream_) (void)other_stream_->synchronise();
  finish(); // nobody takes what it does for a result: the call was given up
  copied_ = nullptr;
  awaited_.assign(awaited_.size(), {});
}

void PeerSlots::finish() {
  for (const auto* const stream : {&stream_, &to_host_, &from_host_})
    if (*stream) (void)(*stream)->synchronise(); // a failure is another's to tell
}

PeerSlots::~PeerSlots() {
  (void)leave();                                                        // the driver closes what is left in the end
  if (begin_ != nullptr && !kept_) (void)device_.driver().free(begin_); // nothing to be done about it
  if (!kept_) device_.memory().give_back(bytes_);
}

bool PeerSlots::leave() {
  finish();
  while (!mapped_.empty()) {
    const auto closed = device_.driver().close_exported(mapped_.back());
    if (closed && !*closed) return false;
    mapped_.pop_back(); // of an error nobody can make anything
  }
  return true;
}

Result<std::byte*> PeerSlots::map(const std::string& announced) {
  device::Driver& driver = device_.driver();
  const Announced peer = parsed(announced);
  if (peer.address.empty()) return argument_error("a peer's device memory has no address");
  for (std::int32_t other = 0; other < driver.devices(); ++other) {
    const auto facts = driver.facts(other);
    if (!facts || peer.address != facts->pci_address) continue;
    if (const Status enabled = driver.enable_peer_access(number_, other); !enabled) return enabled.error();
  }
  const auto opened = driver.open_exported(std::string(peer.memory), number_);
  if (!opened) return opened.error();
  mapped_.push_back(*opened);
  return static_cast<std::byte*>(*opened);
}

const Status& PeerSlots::reduces(type::Element element, type::Operation operation) {
  std::optional<Status>& known = reduces_[static_cast<std::size_t>(element)][static_cast<std::size_t>(operation)];
  if (!known) {
    const void* const nothing[] = {begin_, begin_};
    known = stream_->reduce(element, operation, begin_, nothing, 0);
  }
  return *known;
}

bool PeerSlots::put_aside(std::size_t offset, const void* from, std::size_t bytes) {
  device_.count_bytes(DevicePath::peer, bytes);
  return failure_.keep(stream_->copy(begin_ + offset, from, bytes));
}

bool PeerSlots::set_flag(std::byte* flag, std::uint32_t value) {
  return failure_.keep(stream_->set_word(reinterpret_cast<std::uint32_t*>(flag), value));
}

bool PeerSlots::wait_for_flag(std::size_t offset, std::uint32_t value) {
  auto* const word = reinterpret_cast<std::uint32_t*>(begin_ + offset);
  awaited_[next_awaited_++ % awaited_.size()] = {word, value};
  return failure_.keep(stream_->wait_for_word(word, value));
}

bool PeerSlots::copy(void* to, const void* from, std::size_t bytes) {
  return failure_.keep(stream_->copy(to, from, bytes));
}

/// By a stream beside the queue, after what was put in before.
bool PeerSlots::copy_beside(device::Stream& stream, void* to, const void* from, std::size_t bytes) {
  copied_ = &stream;
  return failure_.keep(stream_->record(*end_of_queue_)) && failure_.keep(stream.wait_for(*end_of_queue_)) &&
         failure_.keep(stream.copy(to, from, bytes));
}

bool PeerSlots::copy_to_host(std::uint32_t slot, void* to, const void* from, std::size_t bytes) {
  if (!to_host_) return copy(to, from, bytes);
  // What it reads may have come from the host; the queue need not wait for that.
  if (copies_[slot].under_way && !failure_.keep(to_host_->wait_for(*copies_[slot].done))) return false;
  return copy_beside(*to_host_, to, from, bytes);
}

bool PeerSlots::copy_from_host(std::uint32_t slot, void* to, const void* from, std::size_t bytes) {
  if (!from_host_) return copy(to, from, bytes);
  copies_[slot].under_way = true;
  return copy_beside(*from_host_, to, from, bytes) && failure_.keep(from_host_->record(*copies_[slot].done));
}

bool PeerSlots::await_copies(std::uint32_t slot) {
  if (copies_.empty() || !std::exchange(copies_[slot].under_way, false)) return true;
  return failure_.keep(stream_->wait_for(*copies_[slot].done));
}

/// Copies the operands that no kernel reads where they are, to where it does.
bool PeerSlots::gather(std::span<const Operand> from, std::size_t bytes, Operands& room, std::byte*& free) {
  bool beside = false; // some are copied beside the queue
  for (std::size_t i = 0; i < from.size(); ++i) {
    reached_[i] = from[i].at;
    if (from[i].where == Operand::Where::slot || owns(from[i].at)) continue;
    device::Stream* stream = stream_.get();
    if (from[i].where == Operand::Where::host && from_host_) {
      stream = from_host_.get();
      if (!std::exchange(beside, true) && room.in_use && !failure_.keep(stream->wait_for(*room.used))) return false;
    }
    if (!failure_.keep(stream->copy(free, from[i].at, bytes))) return false;
    reached_[i] = std::exchange(free, free + rounded_up(bytes, 64));
  }
  return !beside || (failure_.keep(from_host_->record(*room.copied)) && failure_.keep(stream_->wait_for(*room.copied)));
}

bool PeerSlots::reduce(type::Element element, type::Operation operation, void* to, std::span<const Operand> from,
                       std::size_t count) {
  const std::size_t bytes = count * type::bytes_of(element);
  const bool by_host = std::any_of(from.begin(), from.end(),
                                   [](const Operand& operand) { return operand.where == Operand::Where::host; });
  if (by_host) ++next_operands_;
  Operands& room = operands_[next_operands_ % operands_.size()];
  std::byte* free = begin_ + room.begin;
  if (!gather(from, bytes, room, free)) return false;
  void* const result = owns(to) ? to : free;
  if (!failure_.keep(stream_->reduce(element, operation, result, {reached_.data(), from.size()}, count))) return false;
  if (result != to && !failure_.keep(stream_->copy(to, result, bytes))) return false;
  room.in_use = from_host_ != nullptr;
  return !room.in_use || failure_.keep(stream_->record(*room.used));
}

void* PeerSlots::address_for_networks(void* memory) {
  void* const seen = device_.driver().address_for_networks(memory);
  if (seen == nullptr)
    (void)failure_.keep(
        Error{ErrorKind::unsupported, "network devices cannot reach a buffer in device memory"}); // kept
  return seen;
}

void PeerSlots::count_straight(std::size_t bytes) {
  went_straight_ = true;
  device_.count_bytes(DevicePath::straight, bytes);
}

void PeerSlots::count_bounced(std::size_t bytes) {
  bounced_ = true;
  device_.count_bytes(DevicePath::bounced, bytes);
}

bool PeerSlots::mark(std::uint32_t number) {
  device::Stream* const copied = std::exchange(copied_, nullptr);
  return failure_.keep((copied != nullptr ? copied : stream_.get())->record(*marks_[number]));
}

bool PeerSlots::passed(std::uint32_t number) {
  if (!failure_.why().empty()) return false;
  const auto reached = marks_[number]->reached();
  if (reached) return *reached;
  return failure_.keep(reached.error());
}

} // namespace strata::comm
