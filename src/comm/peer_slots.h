// SPDX-License-Identifier: BSD-3-Clause
// What the device of this rank keeps for one plan, in one allocation of strata's own that peers of the machine map:
//
//     slots, which peers read | room for slices that work on the device, one per slice in flight | operands
//
// and the queue that works on it. The room of a slice is its vector, scratch, and where messages from other nodes land.
// Kernels run in a context of the driver's choice, which reaches this memory and the peers' but perhaps not the
// program's: what a reduction reads of that, or of the host, is copied to `operands` first, and what it writes there
// comes from it. The order of the queue makes one such place enough. Where messages leave the node, there are two, and
// a stream for the copies of each direction between host and device beside the queue: so one reduction's operands come
// from the host during another.
#pragma once

#include "base/first_failure.h"
#include "comm/device.h"
#include "engine/device_queue.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::comm {

class PeerSlots final : public engine::DeviceQueue {
public:
  /// Whether peers' queues may wait for flags here, and this one for theirs, where the device can.
  enum class Flags : bool { unwanted, wanted };
  static Result<std::unique_ptr<PeerSlots>> make(Device& device, std::int32_t number, const engine::DeviceNeeds& needs,
                                                 std::uint32_t window, Flags flags);
  /// After leave(). Frees what no peer has mapped any more.
  ~PeerSlots() override;

  /// Why this device cannot wait for flags that were wanted; empty: it can.
  const std::string& why_no_flags() const { return why_no_flags_; }
  /// Why peers cannot map it, though it serves messages to and from other nodes; empty: they can, or need not.
  const std::string& why_not_exported() const { return why_not_exported_; }
  /// What peers must know to map it; empty where they cannot, or need not.
  const std::string& announcement() const { return announcement_; }
  /// Maps a peer's: to read its slots, and to set its flags.
  Result<std::byte*> map(const std::string& announced);
  /// Ends all work and closes the peers' memory. Once that is true, peers may be told that this rank has left; false:
  /// the driver closes nothing now (Driver::hold_frees), and it is to be called again.
  bool leave();
  /// Peers may still have it mapped: it stays until the process ends.
  void keep_memory() { kept_ = true; }

  /// Where an announced device is in its machine, and whether its queue waits for flags.
  struct Announced {
    std::string_view address;
    bool waits = false;
    std::string_view memory;
  };
  static Announced parsed(std::string_view announced);
  /// When a peer is gone that was to set flags for which the queue may wait for ever: what it has been given runs to
  /// its end, on whatever is there.
  void give_up();
  /// Waits for all that is under way, of which nobody needs the result.
  void finish();
  /// After flags were tried, when nobody sets or waits for one: they are 0 again, and what failed is forgotten. Waits
  /// for the queue.
  Status forget_tried_flags();

  /// Whether the device can do this in the plan's steps, or why not. Asks the device once.
  const Status& reduces(type::Element element, type::Operation operation);
  device::Stream& stream() { return *stream_; }
  std::int32_t device_number() const { return number_; }
  std::byte* vector_of(std::uint32_t slot) const { return begin_ + rooms_ + slot * needs_.room; }
  std::byte* scratch_of(std::uint32_t slot) const { return vector_of(slot) + needs_.region; }
  std::byte* landing_of(std::uint32_t slot) const { return vector_of(slot) + needs_.room - needs_.landing; }
  /// Whether there is room for what goes straight to and from other nodes.
  bool go_straight() const { return needs_.straight; }
  /// Whether messages have gone straight to or from another node since this was asked last.
  bool went_straight() { return std::exchange(went_straight_, false); }
  /// Likewise, whether payloads have passed through the host.
  bool bounced() { return std::exchange(bounced_, false); }

  bool put_aside(std::size_t offset, const void* from, std::size_t bytes) override;
  bool set_flag(std::byte* flag, std::uint32_t value) override;
  bool wait_for_flag(std::size_t offset, std::uint32_t value) override;
  bool copy(void* to, const void* from, std::size_t bytes) override;
  bool copy_to_host(std::uint32_t slot, void* to, const void* from, std::size_t bytes) override;
  bool copy_from_host(std::uint32_t slot, void* to, const void* from, std::size_t bytes) override;
  bool await_copies(std::uint32_t slot) override;
  bool reduce(type::Element element, type::Operation operation, void* to, std::span<const Operand> from,
              std::size_t count) override;
  bool mark(std::uint32_t number) override;
  bool passed(std::uint32_t number) override;
  void* address_for_networks(void* memory) override;
  void count_straight(std::size_t bytes) override;
  void count_bounced(std::size_t bytes) override;
  const std::string& failure() const override { return failure_.why(); }

private:
  struct Operands;

  PeerSlots(Device& device, std::int32_t number, const engine::DeviceNeeds& needs)
      : device_(device), number_(number), needs_(needs) {}
  Status prepare(std::uint32_t window, Flags flags);
  Status prepare_copies(std::uint32_t window);
  Status prepare_flags();
  Status clear_flags();
  bool copy_beside(device::Stream& stream, void* to, const void* from, std::size_t bytes);
  bool gather(std::span<const Operand> from, std::size_t bytes, Operands& room, std::byte*& free);
  bool owns(const void* memory) const {
    const auto* at = static_cast<const std::byte*>(memory);
    return begin_ <= at && at < begin_ + bytes_;
  }

  Device& device_;
  std::int32_t number_; ///< of the device
  engine::DeviceNeeds needs_;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0, rooms_ = 0; ///< of all; where the rooms of slices begin
  std::string announcement_, why_no_flags_, why_not_exported_;
  std::vector<void*> mapped_;
  bool kept_ = false, went_straight_ = false, bounced_ = false;
  std::unique_ptr<device::Stream> stream_;
  std::vector<std::unique_ptr<device::Event>> marks_;
  // Beside the queue. Null, or none: no message leaves the node, and the queue does all by itself.
  std::unique_ptr<device::Stream> to_host_, from_host_;
  std::unique_ptr<device::Event> end_of_queue_; ///< behind which a copy begins
  /// From the host.
  struct Copies {
    std::unique_ptr<device::Event> done;
    bool under_way = false; ///< and the queue does not await them yet
  };
  std::vector<Copies> copies_;       ///< by slot
  device::Stream* copied_ = nullptr; ///< by which the last step's copy goes, and its mark
  /// Where operands and a result are for a reduction, which those from the host are copied to beside the one before.
  struct Operands {
    std::size_t begin = 0;
    std::unique_ptr<device::Event> copied, used;
    bool in_use = false; ///< by a reduction that may not have run yet
  };
  std::vector<Operands> operands_;
  std::size_t next_operands_ = 0;
  struct Awaited {
    std::uint32_t* flag = nullptr;
    std::uint32_t value = 0;
  };
  std::unique_ptr<device::Stream> other_stream_; ///< null: this device cannot wait for flags
  std::vector<Awaited> awaited_;                 ///< as many as may be under way; the oldest are overwritten
  std::size_t next_awaited_ = 0;
  std::vector<const void*> reached_;                                          ///< operands where a kernel can read them
  std::optional<Status> reduces_[type::element_kinds][type::operation_kinds]; ///< none: not asked yet
  FirstFailure failure_;
};

} // namespace strata::comm
