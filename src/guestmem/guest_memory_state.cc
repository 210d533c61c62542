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
// As each file is mapped, in the order of the files; missing: as long as it is now. A program that
// passes it by takes the files as long as they are, too.
constexpr Tag kFileSize{state::kMayBeSkipped | 5};

// Of a set of addresses.
constexpr Tag kIntervals{1};

// No file is longer, whatever the limits are.
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 62;

struct SavedInterval {
  Le64 first;
  Le64 last;
};

}  // namespace

struct GuestMemory::SavedRange {
  Le64 iova;
  Le64 size;
  Le64 file_offset;
  Le32 file;  // from 1; 0: none
  std::uint8_t rights;
};

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
  for (const MemoryFile* file : files) out.number(kFileSize, file->facts().size);
}

// Addresses that were unmapped are loaded first, so that no range can overlap them.
void GuestMemory::load(Reader& in, Descriptors& descriptors) {
  owner_.check();
  assert(ranges_.empty() && files_.empty() && !dma_enabled());
  std::vector<UniqueFd> given;
  while (UniqueFd descriptor = descriptors.load_if(in, kFile))
    given.push_back(std::move(descriptor));
  Reader unmapped = in.group(kUnmapped);
  gone_.load(unmapped);
  const auto ranges = in.list<SavedRange>(kRanges, limits_.ranges);
  const bool enabled = in.flag(kDmaEnabled);
  std::vector<std::uint64_t> sizes;
  while (sizes.size() <= given.size()) {
    const auto size = in.number_if(kFileSize);
    if (!size) break;
    sizes.push_back(*size);
  }
  in.end();
  in.expect(sizes.empty() || sizes.size() == given.size(), "not each memory file has its size");
  load_ranges(in, ranges, load_files(in, std::move(given), sizes));
  if (in.good()) return set_dma_enabled(enabled);
  unmap_all();
  gone_.clear();
}

// Each is mapped now, as by the first range that shows it. A VMM may have cut its file short since
// it was mapped. That ends the VM when it uses what is missing, and must not refuse the state.
std::vector<std::shared_ptr<MemoryFile>> GuestMemory::load_files(
    Reader& in, std::vector<UniqueFd> given, const std::vector<std::uint64_t>& sizes) {
  std::vector<std::shared_ptr<MemoryFile>> files;
  for (std::size_t i = 0; i < given.size() && in.good(); ++i) {
    const std::uint64_t as_long = sizes.empty() ? 0 : sizes[i];
    const bool is_size = as_long != 0 && as_long <= std::min(limits_.bytes, kMostFileBytes);
    if (!in.expect(sizes.empty() || is_size, "no memory file may have such a size")) break;
    auto file = file_for(std::move(given[i]), 0, 1, as_long);
    if (!file) {
      in.refuse(file.error().message);
    } else if (in.expect(std::ranges::find(files, *file) == files.end(),
                         "a memory file is there twice")) {
      files.push_back(std::move(*file));
    }
  }
  return files;
}

void GuestMemory::load_ranges(Reader& in, std::span<const SavedRange> ranges,
                              const std::vector<std::shared_ptr<MemoryFile>>& files) {
  if (!in.good()) return;
  std::size_t files_shown = 0;
  for (const SavedRange& one : ranges) {
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
