#include "guestmem/guest_memory.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "base/memory_shortage.h"
#include "guestmem/extent_access.h"
#include "guestmem/memory_file.h"
#include "guestmem/raw_copy.h"

namespace paravane {
namespace {

constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kRemarkableRange = std::uint64_t{1} << 20;

// The last address of a range. REQUIRES: size is not 0 and nothing wraps.
constexpr std::uint64_t last_of(std::uint64_t first, std::uint64_t size) {
  return first + (size - 1);
}

Status to_status(Reach reach) {
  switch (reach) {
    case Reach::kOk: return {};
    case Reach::kOutside: return fail(Errc::kOutOfRange, "guest address is not mapped");
    case Reach::kAbsent: return fail(Errc::kBadState, "guest address is unmapped, or DMA is off");
    case Reach::kDenied:
      return fail(Errc::kInvalidArgument, "access to this guest range is denied");
    case Reach::kFailed: return fail(Errc::kIo, "guest memory failed");
  }
  return fail(Errc::kIo, "impossible");
}

}  // namespace

GuestMemory::GuestMemory(Limits limits) : limits_(limits) {}
GuestMemory::GuestMemory() : GuestMemory(Limits{}) {}
GuestMemory::~GuestMemory() = default;

// ---- The DMA map ----

Status GuestMemory::map(UniqueFd file, std::uint64_t file_offset, GuestAddr iova,
                        std::uint64_t size, Rights rights) {
  owner_.check();
  if (Status good = check_new_range(file_offset, iova.value, size); !good) return good;
  std::shared_ptr<MemoryFile> shown;
  if (file) {
    Result<std::shared_ptr<MemoryFile>> found = file_for(std::move(file), file_offset, size);
    if (!found) return std::unexpected(found.error());
    shown = std::move(*found);
  }
  show(iova.value, Range{size, std::move(shown), file_offset, rights});
  return {};
}

// REQUIRES: check_new_range(), and the file has it.
void GuestMemory::show(std::uint64_t iova, Range range) {
  if (range.file != nullptr && !range.file->facts().writable) {
    range.rights = allows(range.rights, Rights::kRead) ? Rights::kRead : Rights::kNone;
  }
  if (range.large_without_file()) ++large_without_file_;
  const std::uint64_t last = last_of(iova, range.size);
  ranges_.emplace(iova, std::move(range));
  gone_.remove(iova, last);
  ++generation_;
}

Status GuestMemory::check_new_range(std::uint64_t file_offset, std::uint64_t iova,
                                    std::uint64_t size) const {
  if (size == 0) return fail(Errc::kInvalidArgument, "dma map: empty range");
  if (!page_aligned(iova) || !page_aligned(size) || !page_aligned(file_offset)) {
    return fail(Errc::kInvalidArgument, "dma map: range is not page aligned");
  }
  if (size - 1 > kTop - iova || size > kTop - file_offset) {
    return fail(Errc::kInvalidArgument, "dma map: range wraps around");
  }
  const auto after = ranges_.upper_bound(iova);
  const bool meets_next = after != ranges_.end() && after->first <= last_of(iova, size);
  if (meets_next || find(iova) != ranges_.end()) {
    return fail(Errc::kInvalidArgument, "dma map: range overlaps another");
  }
  if (ranges_.size() >= limits_.ranges) {
    return fail(Errc::kResourceExhausted,
                "dma map: more than " + std::to_string(limits_.ranges) + " ranges");
  }
  return {};
}

// `as_long`: the file is taken as one of so many bytes; 0: as long as it is.
Result<std::shared_ptr<MemoryFile>> GuestMemory::file_for(UniqueFd fd, std::uint64_t file_offset,
                                                          std::uint64_t size,
                                                          std::uint64_t as_long) {
  Result<MemoryFile::Facts> facts = MemoryFile::examine(fd.get());
  if (!facts) return std::unexpected(facts.error());
  if (as_long != 0) facts->size = as_long;
  if (!facts->holds(file_offset, size)) {
    return fail(Errc::kInvalidArgument, "dma map: range extends past the end of its file");
  }
  const auto known = std::ranges::find_if(
      files_, [&](const File& entry) { return entry.file->facts().same_file(*facts); });
  if (known == files_.end()) {
    if (Status room = make_room_for(facts->mapped_bytes(), 1); !room) {
      return std::unexpected(room.error());
    }
    Result<std::shared_ptr<MemoryFile>> mapped =
        MemoryFile::map(std::move(fd), *facts, free_file_number(), mapping_end_);
    if (mapped) files_.push_back(File{*mapped, std::nullopt});
    return mapped;
  }

  std::shared_ptr<MemoryFile> file = known->file;
  if (file->failed()) return fail(Errc::kIo, "dma map: the memory of this file has failed");
  known->idle_since.reset();
  MemoryFile::Facts wanted = *facts;
  // Older ranges may still show what a smaller file or a read-only descriptor
  // of now would not.
  wanted.size = std::max(wanted.size, file->facts().size);
  const bool grew = wanted.size > file->facts().size;
  if (!grew && (file->facts().writable || !wanted.writable)) return file;
  wanted.writable = facts->writable;
  if (!wanted.writable && file->facts().writable) {
    return fail(Errc::kInvalidArgument, "dma map: a file grew, but is read-only now");
  }
  const std::uint64_t more = wanted.mapped_bytes() - file->facts().mapped_bytes();
  if (Status room = make_room_for(more, 0); !room) return std::unexpected(room.error());
  end_mapping_age();
  if (Status moved = file->remap(std::move(fd), wanted); !moved)
    return std::unexpected(moved.error());
  ++generation_;
  return file;
}

std::uint32_t GuestMemory::free_file_number() const {
  std::vector<bool> taken(files_.size() + 1);
  for (const File& entry : files_) {
    if (entry.file->number() < taken.size()) taken[entry.file->number()] = true;
  }
  return static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin());
}

// What was unmapped keeps its addresses until the sink has taken it down.
Status GuestMemory::check_ending() const {
  const std::uint64_t bytes = mapping_end_.among->bytes;
  if (bytes <= limits_.bytes && mapping_end_.among->count <= limits_.files) return {};
  return fail(Errc::kResourceExhausted,
              "dma map: the VM's previous memory is still being unmapped: " +
                  std::to_string(bytes) + " bytes remain");
}

// Unused files are dropped before a request is refused.
Status GuestMemory::make_room_for(std::uint64_t new_bytes, std::uint32_t new_files) {
  const auto fits = [&] {
    const std::uint64_t mapped = mapped_file_bytes();
    return files_.size() + new_files <= limits_.files && mapped <= limits_.bytes &&
           new_bytes <= limits_.bytes - mapped;
  };
  if (!fits()) {
    std::erase_if(files_, [](const File& entry) { return entry.idle() && !entry.file->failed(); });
  }
  if (fits()) return check_ending();
  return fail(Errc::kResourceExhausted, "dma map: this VM is limited to " +
                                            std::to_string(limits_.files) + " files of " +
                                            std::to_string(limits_.bytes) + " bytes in total");
}

void GuestMemory::unmap(GuestAddr iova, std::uint64_t size) {
  owner_.check();
  if (size == 0) return;
  const std::uint64_t end = size - 1 > kTop - iova.value ? kTop : last_of(iova.value, size);
  const std::uint64_t first = iova.value & ~(kPageBytes - 1);
  const std::uint64_t last = end | (kPageBytes - 1);

  auto range = ranges_.upper_bound(first);
  if (range != ranges_.begin()) --range;
  if (range != ranges_.end() && range->first <= last) end_mapping_age();
  while (range != ranges_.end() && range->first <= last) {
    const auto current = range++;
    if (last_of(current->first, current->second.size) < first) continue;
    cut(current, first, last);
    ++generation_;
  }
}

void GuestMemory::cut(Ranges::iterator range, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t range_first = range->first;
  const std::uint64_t range_last = last_of(range_first, range->second.size);
  Range upper = range->second;
  if (upper.large_without_file()) --large_without_file_;
  if (range_first < first) {
    range->second.size = first - range_first;
    if (range->second.large_without_file()) ++large_without_file_;
  } else {
    last_found_ = ranges_.end();
    ranges_.erase(range);
  }
  std::uint64_t gone_last = std::min(range_last, last);
  if (range_last > last) {
    upper.size = range_last - last;
    upper.file_offset += last + 1 - range_first;
    const bool is_kept = ranges_.size() < limits_.ranges &&
                         runs_in_memory([&] { ranges_.emplace(last + 1, upper); });
    if (!is_kept) gone_last = range_last;
    if (is_kept && upper.large_without_file()) ++large_without_file_;
  }
  gone_.add(std::max(range_first, first), gone_last);
  gone_since_.reset();
}

// Before anything that was mapped is not any more.
void GuestMemory::end_mapping_age() {
  loans_.recall_all();
  ++mapping_age_;
  for (const std::weak_ptr<MappingWatcher>& watcher : mapping_watchers_) {
    const auto told = watcher.lock();
    if (told != nullptr) runs_in_memory([&told] { told->on_mapping_age_ended(); });
  }
}

void GuestMemory::watch_mappings(std::weak_ptr<MappingWatcher> watcher) {
  std::erase_if(mapping_watchers_, [](const auto& one) { return one.expired(); });
  mapping_watchers_.push_back(std::move(watcher));
}

std::vector<GuestMemory::MappedFile> GuestMemory::writable_files() const {
  std::vector<MappedFile> files;
  for (const File& entry : files_) {
    const MemoryFile::Facts& facts = entry.file->facts();
    if (entry.idle() || !facts.writable || entry.file->failed()) continue;
    files.push_back({.file = entry.file, .bytes = {entry.file->at(0), facts.mapped_bytes()}});
  }
  return files;
}

void GuestMemory::unmap_all() {
  owner_.check();
  end_mapping_age();
  for (const auto& [first, range] : ranges_) gone_.add(first, last_of(first, range.size));
  gone_since_.reset();
  last_found_ = ranges_.end();
  ranges_.clear();
  large_without_file_ = 0;
  std::erase_if(files_, [](const File& entry) { return entry.idle(); });
  ++generation_;
}

void GuestMemory::expire_files(Instant now) {
  owner_.check();
  const auto overdue = [&](std::optional<Instant>& since) {
    if (!since) since = now;
    return now - *since >= limits_.keep_idle;
  };
  std::erase_if(files_, [&](File& entry) {
    if (!entry.idle() || entry.file->failed()) {
      entry.idle_since.reset();
      return false;
    }
    return overdue(entry.idle_since);
  });
  if (!gone_.empty() && overdue(gone_since_)) {
    gone_.clear();
    gone_since_.reset();
  }
}

void GuestMemory::set_dma_enabled(bool enabled) {
  owner_.check();
  if (enabled == dma_enabled()) return;
  loans_.recall_all();
  open_epoch_ = enabled ? epoch_ : 0;
  ++generation_;
}

void GuestMemory::end_lists() {
  owner_.check();
  loans_.recall_all();
  ++epoch_;
  if (dma_enabled()) open_epoch_ = epoch_;
  ++generation_;
}

bool GuestMemory::failed() const {
  return std::ranges::any_of(files_, [](const File& entry) { return entry.file->failed(); });
}

// Counted and not looked for: the guest can have it asked as often as it likes.
bool GuestMemory::Range::large_without_file() const {
  return file == nullptr && size > kRemarkableRange;
}

bool GuestMemory::shows_file(GuestAddr from, std::uint64_t size) const {
  owner_.check();
  const std::uint64_t first = from.value;
  const std::uint64_t last = last_of(first, size);
  auto range = ranges_.upper_bound(first);
  if (range != ranges_.begin()) {
    const auto before = std::prev(range);
    if (last_of(before->first, before->second.size) >= first) range = before;
  }
  for (; range != ranges_.end() && range->first <= last; ++range) {
    if (range->second.file != nullptr) return true;
  }
  return false;
}

bool GuestMemory::shows_device_memory() const {
  owner_.check();
  return std::any_of(ranges_.lower_bound(kRemarkableRange), ranges_.end(), [](const auto& range) {
    return range.second.file == nullptr && allows(range.second.rights, Rights::kWrite);
  });
}

std::uint64_t GuestMemory::mapped_file_bytes() const {
  std::uint64_t sum = 0;
  for (const File& entry : files_) sum += entry.file->facts().mapped_bytes();
  return sum;
}

GuestMemory::Usage GuestMemory::usage() const {
  return {.ranges = static_cast<std::uint32_t>(ranges_.size()),
          .files = static_cast<std::uint32_t>(files_.size()),
          .mapped_file_bytes = mapped_file_bytes(),
          .page_list_bytes = list_account_.used()};
}

std::uint64_t GuestMemory::page_list_quota() const {
  if (limits_.page_list_bytes != 0) return limits_.page_list_bytes;
  return std::max(kLeastListQuota, mapped_file_bytes() / kPageBytes * kListBytesPerMappedPage);
}

// ---- Access ----

GuestMemory::Ranges::const_iterator GuestMemory::find(std::uint64_t addr) const {
  const auto holds = [addr](Ranges::const_iterator range) {
    return addr - range->first < range->second.size;
  };
  if (last_found_ != ranges_.end() && holds(last_found_)) return last_found_;
  const auto after = ranges_.upper_bound(addr);
  if (after == ranges_.begin()) return ranges_.end();
  const auto range = std::prev(after);
  if (!holds(range)) return ranges_.end();
  last_found_ = range;
  return range;
}

std::optional<GuestMemory::Piece> GuestMemory::find_piece(std::uint64_t addr, std::uint64_t length,
                                                          Rights need) const {
  owner_.check();
  if (!dma_enabled() || length == 0) return std::nullopt;
  const auto range = find(addr);
  if (range == ranges_.end()) return std::nullopt;
  const Range& shown = range->second;
  const std::uint64_t offset = addr - range->first;
  const bool reaches = length <= shown.size - offset && shown.file != nullptr &&
                       allows(shown.rights, need) && !shown.file->failed();
  if (!reaches) return std::nullopt;
  return Piece{shown.file->at(shown.file_offset + offset), length, shown.file.get()};
}

template <typename Each>
Reach GuestMemory::walk(std::uint64_t addr, std::uint64_t length, Rights need, Each each) const {
  owner_.check();
  if (!dma_enabled()) return Reach::kAbsent;
  if (length == 0) return Reach::kOk;
  if (length - 1 > kTop - addr) return Reach::kOutside;
  auto range = find(addr);
  while (true) {
    if (range == ranges_.end() || addr - range->first >= range->second.size) {
      return gone_.contains(addr) ? Reach::kAbsent : Reach::kOutside;
    }
    const Range& shown = range->second;
    if (shown.file == nullptr || !allows(shown.rights, need)) return Reach::kDenied;
    if (shown.file->failed()) return Reach::kFailed;
    const std::uint64_t offset = addr - range->first;
    const std::uint64_t size = std::min(length, shown.size - offset);
    each(Piece{shown.file->at(shown.file_offset + offset), size, shown.file.get()});
    length -= size;
    if (length == 0) return Reach::kOk;
    addr += size;  // cannot wrap: length bytes from here are below the top
    ++range;
  }
}

Reach GuestMemory::reach_whole(std::uint64_t addr, std::uint64_t length, Rights need) const {
  return walk(addr, length, need, [](const Piece&) {});
}

Status GuestMemory::copy_in(GuestAddr from, std::span<std::byte> to) const {
  if (const auto piece = find_piece(from.value, to.size(), Rights::kRead)) {
    raw_copy::copy_bytes(to.data(), piece->host, piece->size);
    return piece->file->failed() ? to_status(Reach::kFailed) : Status{};
  }
  bool intact = true;
  std::byte* next = to.data();
  const Reach reach = walk(from.value, to.size(), Rights::kRead, [&](const Piece& piece) {
    raw_copy::copy_bytes(next, piece.host, piece.size);
    next += piece.size;
    intact = intact && !piece.file->failed();
  });
  return to_status(reach == Reach::kOk && !intact ? Reach::kFailed : reach);
}

Status GuestMemory::copy_out(GuestAddr to, std::span<const std::byte> from) {
  if (const auto piece = find_piece(to.value, from.size(), Rights::kWrite)) {
    raw_copy::copy_bytes(piece->host, from.data(), piece->size);
    return piece->file->failed() ? to_status(Reach::kFailed) : Status{};
  }
  // The whole of it is looked at first: a half-written object is of no use.
  if (const Reach reach = reach_whole(to.value, from.size(), Rights::kWrite); reach != Reach::kOk) {
    return to_status(reach);
  }
  bool intact = true;
  const std::byte* next = from.data();
  const Reach reach = walk(to.value, from.size(), Rights::kWrite, [&](const Piece& piece) {
    raw_copy::copy_bytes(piece.host, next, piece.size);
    next += piece.size;
    intact = intact && !piece.file->failed();
  });
  return to_status(reach == Reach::kOk && !intact ? Reach::kFailed : reach);
}

Reach GuestMemory::resolve(GuestAddr addr, std::uint64_t length, Rights need,
                           ExtentList& out) const {
  const ExtentAccess::Mark mark = ExtentAccess::mark(out);
  const Reach reach = walk(addr.value, length, need, [&](const Piece& piece) {
    ExtentAccess::append(out, piece.host, piece.size, piece.file);
  });
  if (reach != Reach::kOk) ExtentAccess::rewind(out, mark);
  return reach;
}

std::optional<Extent> GuestMemory::find_extent(GuestAddr addr, std::uint64_t length,
                                               Rights need) const {
  std::optional<Extent> extent;
  const Reach reach = walk(addr.value, length, need, [&](const Piece& piece) {
    extent = ExtentAccess::make(piece.host, piece.size, piece.file);
  });
  return reach == Reach::kOk && extent->size() == length ? extent : std::nullopt;
}

}  // namespace paravane
