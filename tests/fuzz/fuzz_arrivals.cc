// SPDX-License-Identifier: BSD-3-Clause
// Messages from the wire, in any order, twice, from nobody: the table of arrivals against a plain map.
#include "fuzz.h"
#include "transport/message.h"

#include <map>

using namespace strata;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::vector<transport::Incoming> incoming;
  for (int i = 0; i < data[0] % 9; ++i)
    incoming.push_back({{static_cast<std::uint8_t>(i % 3), 1, static_cast<std::uint16_t>(i)}, i * 100, i / 2, 64});
  const std::uint32_t window = 1 + data[1] % 5;
  transport::ArrivalTable table(incoming, window);
  std::map<std::pair<std::size_t, std::uint64_t>, std::uintptr_t> wanted;
  std::uintptr_t next = 1;
  for (std::size_t i = 2; i + 2 < size; i += 3) {
    const auto message = static_cast<std::size_t>(data[i + 1]) % (incoming.size() + 1);
    const std::uint64_t slice = data[i + 2];
    if (message == incoming.size()) { // nobody's
      fuzz::require(table.find(data[i + 2], 0xFFFFFFFF, 7) == transport::ArrivalTable::none);
      continue;
    }
    const transport::Incoming& known = incoming[message];
    const std::size_t index = table.find(known.peer, transport::packed(known.tag), known.begin);
    fuzz::require(index == message && table.most_bytes(index) == known.most_bytes);
    const auto place = wanted.find({index, slice});
    if (data[i] % 2 == 0) {
      const bool put = table.put(index, slice, {reinterpret_cast<void*>(next), 1, nullptr});
      fuzz::require(put == (place == wanted.end()));
      if (put) wanted[{index, slice}] = next++;
    } else {
      const transport::Payload taken = table.take(index, slice);
      const std::uintptr_t expected = place == wanted.end() ? 0 : place->second;
      fuzz::require(reinterpret_cast<std::uintptr_t>(taken.bytes) == expected);
      if (place != wanted.end()) wanted.erase(place);
    }
  }
  for (; table.take_any().bytes != nullptr; wanted.erase(wanted.begin()))
    fuzz::require(!wanted.empty());
  fuzz::require(wanted.empty());
  return 0;
}
