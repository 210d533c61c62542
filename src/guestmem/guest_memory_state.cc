// GuestMemory: what is saved of the DMA map.

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>
#include <vector>

#include "base/wire_int.h"
#include "guestmem/guest_memory.h"
#include "guestmem/memory_file.h"

namespace paravane {
namespace {

using state::Descriptors;
using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kFile{1};  // a list, in the order of the first ranges that show them
constexpr Tag kUnmapped{2};
constexpr Tag kRanges{3};
constexpr Tag kDmaEnabled{4};

// Of a set of addresses.
constexpr Tag kIntervals{1};

struct SavedRange {
  Le64 iova;
  Le64 size;
  Le64 file_offset;
  Le32 file;  // from 1; 0: none
  std::uint8_t rights;
};

struct SavedInterval {
  Le64 first;
  Le64 last;
};

}  // namespace

void GuestMemory::save(Writer& out, Descriptors& descriptors) const {
  owner_.check();
  std::vector<const MemoryFile*> files;
  std::vector<SavedRange> ranges;
  ranges.reserve(ranges_.size());
  for (const auto& [iova, range] : ranges_) {
    std::uint32_t number = 0;
    if (range.file != nullptr) {
      const auto known = std::ranges::find(files, range.file.get());
      number = static_cast<std::uint32_t>(known - files.begin()) + 1;
      if (known == files.end()) files.push_back(range.file.get());
    }
    ranges.push_back({.iova = Le64(iova),
                      .size = Le64(range.size),
                      .file_offset = Le64(range.file_offset),
                      .file = Le32(number),
                      .rights = std::to_underlying(range.rights)});
  }
  for (const MemoryFile* file : files) descriptors.save(out, kFile, file->fd());
  {
    const Writer::Group group(out, kUnmapped);
    gone_.save(out);
  }
  out.list(kRanges, ranges);
  out.flag(kDmaEnabled, dma_enabled());
}

// Addresses that were unmapped are loaded first, so that no range can overlap them.
void GuestMemory::load(Reader& in, Descriptors& descriptors) {
  owner_.check();
  assert(ranges_.empty() && files_.empty() && !dma_enabled());
  std::vector<std::shared_ptr<MemoryFile>> files = load_files(in, descriptors);
  Reader unmapped = in.group(kUnmapped);
  gone_.load(unmapped);
  load_ranges(in, files);
  files.clear();  // what has no range now is idle
  const bool enabled = in.flag(kDmaEnabled);
  in.end();
  if (in.good()) return set_dma_enabled(enabled);
  unmap_all();
  gone_.clear();
}

// Each is mapped now, as by the first range that shows it.
std::vector<std::shared_ptr<MemoryFile>> GuestMemory::load_files(Reader& in,
                                                                 Descriptors& descriptors) {
  std::vector<std::shared_ptr<MemoryFile>> files;
  while (UniqueFd descriptor = descriptors.load_if(in, kFile)) {
    auto file = file_for(std::move(descriptor), 0, 1);
    if (!file) {
      in.refuse(file.error().message);
      return files;
    }
    if (!in.expect(std::ranges::find(files, *file) == files.end(), "a memory file is there twice"))
      break;
    files.push_back(std::move(*file));
  }
  return files;
}

void GuestMemory::load_ranges(Reader& in, const std::vector<std::shared_ptr<MemoryFile>>& files) {
  std::size_t files_shown = 0;
  for (const SavedRange& one : in.list<SavedRange>(kRanges, limits_.ranges)) {
    const std::uint64_t iova = one.iova.get();
    const std::uint64_t size = one.size.get();
    const std::uint64_t offset = one.file_offset.get();
    const std::size_t number = one.file.get();
    const bool in_order = (ranges_.empty() || ranges_.rbegin()->first < iova) &&
                          number <= std::min(files_shown + 1, files.size());
    if (!in.expect(in_order && one.rights <= std::to_underlying(Rights::kReadWrite),
                   "a range is not in its place, or has no such file or rights")) {
      return;
    }
    if (const Status good = check_new_range(offset, iova, size); !good) {
      return in.refuse(good.error().message);
    }
    const auto file = number == 0 ? nullptr : files[number - 1];
    if (!in.expect(file == nullptr || file->facts().holds(offset, size),
                   "a range extends past the end of its file")) {
      return;
    }
    show(iova, Range{size, file, offset, Rights{one.rights}});
    files_shown = std::max(files_shown, number);
  }
  in.expect(files_shown == files.size(), "a memory file has no range");
}

void AddressSet::save(Writer& out) const {
  std::vector<SavedInterval> intervals;
  intervals.reserve(intervals_.size());
  for (const auto& [first, last] : intervals_) {
    intervals.push_back({.first = Le64(first), .last = Le64(last)});
  }
  out.list(kIntervals, intervals);
}

void AddressSet::load(Reader& in) {
  const auto saved = in.list<SavedInterval>(kIntervals, kMaxIntervals);
  in.end();
  for (const SavedInterval& one : saved) {
    if (!in.expect(one.first.get() <= one.last.get(), "an interval ends before it begins")) return;
    add(one.first.get(), one.last.get());
  }
}

}  // namespace paravane
