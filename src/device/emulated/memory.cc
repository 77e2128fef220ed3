// SPDX-License-Identifier: BSD-3-Clause
#include "device/emulated/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

namespace strata::device {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr int garbage = 0xa5; ///< what fresh memory holds: large negative integers, tiny negative floats

/// What export_memory() gives: bytes between processes of the same build.
struct Exported {
  std::uint64_t nonce;
  std::uint64_t bytes;
  std::int32_t pid;
  std::int32_t descriptor;
};

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }
std::string reason() { return std::strerror(errno); } // NOLINT: the message is copied at once

/// Leaves the addresses reserved, so that a use after the free is seen.
void release(const Allocation& gone) {
  (void)::mmap(gone.memory.base, gone.mapped_bytes, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (gone.alias != gone.memory.base) ::munmap(gone.alias, gone.mapped_bytes);
  if (gone.descriptor >= 0) ::close(gone.descriptor);
}

Result<int> make_file(std::size_t bytes, std::uint64_t nonce) {
  const int file = ::memfd_create("emulated-device", MFD_CLOEXEC);
  if (file < 0) return Error{ErrorKind::resource, fmt::format("memfd_create: {}", reason())};
  const auto end = static_cast<off_t>(bytes);
  if (::ftruncate(file, end + static_cast<off_t>(page_bytes)) == 0 && ::fallocate(file, 0, 0, end) == 0 &&
      ::pwrite(file, &nonce, sizeof nonce, end) == sizeof nonce)
    return file;
  Error error{ErrorKind::resource, fmt::format("cannot allocate {} bytes of emulated memory: {}", bytes, reason())};
  ::close(file);
  return error;
}

} // namespace

MemoryTable::~MemoryTable() {
  for (const auto& [begin, allocation] : table_) {
    release(allocation);
    ::munmap(allocation.memory.base, allocation.mapped_bytes);
  }
  for (const auto& [begin, bytes] : freed_)
    ::munmap(const_cast<std::byte*>(begin), bytes);
}

/// Maps the allocation's file and enters it. Takes the descriptor over, on failure too.
Result<std::byte*> MemoryTable::map(Allocation made, void* at) {
  const bool is_device = made.memory.kind == Kind::device;
  constexpr int both = PROT_READ | PROT_WRITE;
  const int flags = MAP_SHARED | (at != nullptr ? MAP_FIXED : 0);
  void* const seen = ::mmap(at, made.mapped_bytes, is_device ? PROT_NONE : both, flags, made.descriptor, 0);
  void* const alias = is_device ? ::mmap(nullptr, made.mapped_bytes, both, MAP_SHARED, made.descriptor, 0) : seen;
  if (seen == MAP_FAILED || alias == MAP_FAILED) {
    Error error{ErrorKind::resource, fmt::format("cannot map {} bytes: {}", made.mapped_bytes, reason())};
    if (seen != MAP_FAILED) ::munmap(seen, made.mapped_bytes);
    if (alias != MAP_FAILED && is_device) ::munmap(alias, made.mapped_bytes);
    ::close(made.descriptor);
    return error;
  }
  made.memory.base = static_cast<std::byte*>(seen);
  made.alias = static_cast<std::byte*>(alias);
  const std::lock_guard lock(mutex_);
  made.memory.buffer = ++last_buffer_;
  std::byte* const begin = made.memory.base;
  freed_.erase(begin);
  table_[begin] = std::move(made);
  return begin;
}

Result<std::byte*> MemoryTable::allocate(Kind kind, std::int32_t device, std::size_t bytes, Origin origin, void* at) {
  if (bytes == 0 || kind == Kind::host) return argument_error("no emulated memory of 0 bytes or host kind");
  Allocation made;
  made.memory = {kind, kind == Kind::pinned ? -1 : device, 0, nullptr, bytes, false, false};
  made.memory.exportable = kind == Kind::device && origin == Origin::strata;
  made.memory.reached_by_all = kind == Kind::device && origin != Origin::pool_of_program;
  made.mapped_bytes = whole_pages(bytes);
  if (::getrandom(&made.nonce, sizeof made.nonce, 0) != sizeof made.nonce)
    return Error{ErrorKind::resource, fmt::format("no random bytes for a nonce: {}", reason())};
  const auto file = make_file(made.mapped_bytes, made.nonce);
  if (!file) return file.error();
  made.descriptor = *file;
  auto begin = map(std::move(made), at);
  if (!begin) return begin;
  const auto filled = reach(*begin, bytes);
  std::memset(*filled, garbage, bytes);
  return begin;
}

Status MemoryTable::free(void* begin, Kind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(static_cast<std::byte*>(begin));
  if (found == table_.end() || found->second.memory.kind != kind || !found->second.opened_from.empty())
    return argument_error(fmt::format("no allocation of that kind begins at {}", begin));
  release(found->second);
  freed_[found->first] = found->second.mapped_bytes;
  table_.erase(found);
  return ok();
}

/// Under the lock: the allocation that holds `pointer`, or the end.
MemoryTable::Table::const_iterator MemoryTable::at_or_before(const void* pointer) const {
  const auto* address = static_cast<const std::byte*>(pointer);
  auto next = table_.upper_bound(address);
  if (next == table_.begin()) return table_.end();
  --next;
  return address < next->first + next->second.memory.bytes ? next : table_.end();
}

Memory MemoryTable::find(const void* pointer) const {
  const std::lock_guard lock(mutex_);
  const auto found = at_or_before(pointer);
  return found == table_.end() ? Memory{} : found->second.memory;
}

Result<std::byte*> MemoryTable::reach(const void* pointer, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return reach_locked(pointer, bytes);
}

Status MemoryTable::copy(void* to, const void* from, std::size_t bytes) const {
  const std::lock_guard lock(mutex_); // nothing is freed meanwhile
  const auto target = reach_locked(to, bytes), source = reach_locked(from, bytes);
  if (!target) return target.error();
  if (!source) return source.error();
  std::memcpy(*target, *source, bytes);
  return ok();
}

Result<std::byte*> MemoryTable::reach_locked(const void* pointer, std::size_t bytes) const {
  const auto found = at_or_before(pointer);
  const auto freed = freed_.upper_bound(static_cast<const std::byte*>(pointer));
  if (found == table_.end() && freed != freed_.begin())
    if (const auto& [begin, length] = *std::prev(freed); pointer < begin + length)
      return argument_error(fmt::format("the memory at {} has been freed", pointer));
  if (found == table_.end()) return const_cast<std::byte*>(static_cast<const std::byte*>(pointer));
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - found->first);
  if (bytes > found->second.memory.bytes - offset)
    return argument_error(
        fmt::format("{} bytes at {} leave their allocation of {} bytes", bytes, pointer, found->second.memory.bytes));
  return found->second.alias + offset;
}

bool MemoryTable::is_opened(const void* pointer) const {
  const std::lock_guard lock(mutex_);
  const auto found = at_or_before(pointer);
  return found != table_.end() && !found->second.opened_from.empty();
}

Result<std::string> MemoryTable::export_memory(const void* begin) const {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(static_cast<const std::byte*>(begin));
  if (found == table_.end() || !found->second.memory.exportable || !found->second.opened_from.empty())
    return Error{ErrorKind::unsupported, fmt::format("the memory at {} cannot be exported", begin)};
  const Exported exported{found->second.nonce, found->second.memory.bytes, ::getpid(), found->second.descriptor};
  return std::string(reinterpret_cast<const char*>(&exported), sizeof exported);
}

Result<void*> MemoryTable::open(const std::string& text, std::int32_t device) {
  Exported exported{};
  if (text.size() != sizeof exported) return argument_error("no handle of an emulated device's memory");
  std::memcpy(&exported, text.data(), sizeof exported);
  {
    const std::lock_guard lock(mutex_);
    for (auto& [begin, known] : table_) {
      if (known.opened_from == text) {
        ++known.openings;
        return static_cast<void*>(known.memory.base);
      }
      // The process id alone does not say so: ranks in namespaces of their own are all number 1.
      if (exported.pid == ::getpid() && known.opened_from.empty() && known.nonce == exported.nonce)
        return Error{ErrorKind::unsupported, "a process cannot open memory that it exported itself"};
    }
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", exported.pid, exported.descriptor);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return Error{ErrorKind::unsupported, fmt::format("cannot open {}: {}", path, reason())};
  Allocation opened;
  opened.memory = {Kind::device, device, 0, nullptr, exported.bytes, false, true};
  opened.mapped_bytes = whole_pages(exported.bytes);
  opened.descriptor = file;
  opened.opened_from = text;
  opened.openings = 1;
  const bool ours = ::pread(file, &opened.nonce, sizeof opened.nonce, static_cast<off_t>(opened.mapped_bytes)) ==
                        sizeof opened.nonce &&
                    opened.nonce == exported.nonce;
  if (!ours) {
    ::close(file);
    return Error{ErrorKind::unsupported, fmt::format("{} is another file, of another machine or container", path)};
  }
  auto begin = map(std::move(opened), nullptr);
  if (!begin) return begin.error();
  return static_cast<void*>(*begin);
}

Status MemoryTable::close(void* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(static_cast<std::byte*>(begin));
  if (found == table_.end() || found->second.opened_from.empty())
    return argument_error(fmt::format("no memory of another process was opened at {}", begin));
  if (--found->second.openings > 0) return ok();
  release(found->second);
  freed_[found->first] = found->second.mapped_bytes;
  table_.erase(found);
  return ok();
}

std::size_t MemoryTable::count() const {
  const std::lock_guard lock(mutex_);
  return table_.size();
}

} // namespace strata::device
