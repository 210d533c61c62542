#include "guestmem/page_list.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "guestmem/extent_access.h"
#include "guestmem/memory_file.h"
#include "guestmem/raw_copy.h"

namespace paravane {
namespace {

// A guest's RAM lies in a few, however firmware cut it.
constexpr std::uint64_t kFewRanges = 64;

}  // namespace

Result<PageList> PageList::from_directory(GuestMemory& memory, GuestAddr directory,
                                          std::uint64_t pages, Rights need) {
  Result<PageListBuilder> builder = PageListBuilder::start(memory, directory, pages, need);
  if (!builder) return std::unexpected(builder.error());
  while (true) {
    const Result<bool> done = builder->advance(kMaxDirectoryPages / 512);
    if (!done) return std::unexpected(done.error());
    if (*done) return builder->take();
  }
}

// REQUIRES: offset < size_bytes().
std::size_t PageList::run_at(std::uint64_t offset) {
  const auto page = static_cast<std::uint32_t>(offset / kPageBytes);
  if (holds(last_run_, page)) return last_run_;
  // The next one, for sequential access; where it would be if all runs
  // were of one size, as they are in a list of scattered pages; a search.
  const std::uint32_t next = last_run_ + 1;
  const auto guess = static_cast<std::uint32_t>(std::uint64_t{page} * run_count_ / pages_);
  if (next < run_count_ && holds(next, page)) {
    last_run_ = next;
  } else if (holds(guess, page)) {
    last_run_ = guess;
  } else {
    const std::span all(runs(), run_count_);
    const auto after = std::ranges::upper_bound(all, page, {}, &Run::first_page);
    last_run_ = static_cast<std::uint32_t>(std::prev(after) - all.begin());
  }
  return last_run_;
}

Reach PageList::check(std::size_t run, std::uint64_t from, std::uint64_t length) {
  if (file_of(runs()[run]).failed()) return Reach::kFailed;
  if (runs()[run].generation() == memory_->generation()) return Reach::kOk;
  return check_again(run, from, length);
}

Reach PageList::check_again(std::size_t run, std::uint64_t from, std::uint64_t length) {
  const std::optional<bool> whole = check_whole(run);
  const bool good = whole ? *whole : shows(runs()[run], from, length, size_of(run)).value_or(false);
  return good ? Reach::kOk : Reach::kAbsent;
}

// A VMM may show a run that was in one range in thousands of them, and change its map
// time and again: then a look at the whole run would be long, for each run that is used.
std::optional<bool> PageList::check_whole(std::size_t number) {
  Run& run = runs()[number];
  const std::uint64_t generation = memory_->generation();
  if (scattered_generation_ == generation && scattered_page_ == run.first_page())
    return std::nullopt;
  const std::optional<bool> whole = shows(run, 0, size_of(number), kFewRanges);
  if (!whole) {
    scattered_generation_ = generation;
    scattered_page_ = run.first_page();
  } else if (*whole) {
    run.set_generation(generation);
  }
  return whole;
}

// Whether the map shows again what the run remembers of [from, from+length): the same part
// of the same file, with the rights. It may be in several ranges now; nullopt: in more than
// `most_ranges`.
std::optional<bool> PageList::shows(const Run& run, std::uint64_t from, std::uint64_t length,
                                    std::uint64_t most_ranges) const {
  const Source& source = this->source(run.source());
  const std::uint64_t iova = run.file_offset() + source.distance;
  std::uint64_t looked_at = 0;
  auto range = memory_->find(iova + from);
  while (length > 0) {
    if (looked_at++ == most_ranges) return std::nullopt;
    const std::uint64_t addr = iova + from;
    if (range == memory_->ranges_.end() || addr - range->first >= range->second.size) return false;
    const GuestMemory::Range& shown = range->second;
    const std::uint64_t offset = addr - range->first;
    const bool same = shown.file == source.file && allows(shown.rights, rights_) &&
                      shown.file_offset + offset == run.file_offset() + from;
    if (!same) return false;
    const std::uint64_t part = std::min(length, shown.size - offset);
    from += part;
    length -= part;
    ++range;
  }
  return true;
}

Reach PageList::check_arguments(std::uint64_t offset, std::uint64_t length, Rights need) const {
  if (offset > size_bytes() || length > size_bytes() - offset) return Reach::kOutside;
  if (!allows(rights_, need)) return Reach::kDenied;
  if (memory_ == nullptr) return Reach::kOk;  // an empty list, and so no bytes
  return memory_->open_epoch_ == epoch_ ? Reach::kOk : Reach::kAbsent;
}

template <typename Each>
Reach PageList::walk(std::uint64_t offset, std::uint64_t length, Rights need, Each each) {
  if (const Reach good = check_arguments(offset, length, need); good != Reach::kOk) return good;
  while (length > 0) {
    const std::size_t number = run_at(offset);
    const Run& run = runs()[number];
    const std::uint64_t skipped = offset - run.first_byte();
    const std::uint64_t size = std::min(length, size_of(number) - skipped);
    if (const Reach reach = check(number, skipped, size); reach != Reach::kOk) return reach;
    const MemoryFile& file = file_of(run);
    each(Piece{file.at(run.file_offset() + skipped), size, &file});
    offset += size;
    length -= size;
  }
  return Reach::kOk;
}

std::optional<PageList::Span> PageList::span_at(std::uint64_t offset, std::uint64_t length,
                                                Rights need) {
  if (length == 0 || check_arguments(offset, length, need) != Reach::kOk) return std::nullopt;
  const std::size_t number = run_at(offset);
  const Run& run = runs()[number];
  const MemoryFile& file = file_of(run);
  const std::uint64_t size = size_of(number);
  if (length > size - (offset - run.first_byte()) || file.failed()) return std::nullopt;
  const bool whole =
      run.generation() == memory_->generation() || check_whole(number).value_or(false);
  if (!whole) return std::nullopt;
  return Span{{file.at(run.file_offset()), size, &file}, run.first_byte()};
}

Reach PageList::reach() {
  return walk(0, size_bytes(), rights_, [](const Piece&) {});
}

Reach PageList::resolve(std::uint64_t offset, std::uint64_t length, Rights need, ExtentList& out) {
  const ExtentAccess::Mark mark = ExtentAccess::mark(out);
  const Reach reach = walk(offset, length, need, [&](const Piece& piece) {
    ExtentAccess::append(out, piece.host, piece.size, piece.file);
  });
  if (reach != Reach::kOk) ExtentAccess::rewind(out, mark);
  return reach;
}

Reach PageList::copy_in(std::uint64_t offset, std::span<std::byte> to) {
  bool intact = true;
  std::byte* next = to.data();
  const Reach reach = walk(offset, to.size(), Rights::kRead, [&](const Piece& piece) {
    raw_copy::copy_entry(next, piece.host, piece.size);
    next += piece.size;
    intact = intact && !piece.file->failed();
  });
  return reach == Reach::kOk && !intact ? Reach::kFailed : reach;
}

Reach PageList::copy_out(std::uint64_t offset, std::span<const std::byte> from) {
  // An object over several runs is looked at first: half of it is of no use.
  const bool inside = offset <= size_bytes() && from.size() <= size_bytes() - offset;
  if (inside && !from.empty() && run_count_ > 0) {
    const std::size_t first = run_at(offset);
    if (from.size() > size_of(first) - (offset - runs()[first].first_byte())) {
      const Reach whole = walk(offset, from.size(), Rights::kWrite, [](const Piece&) {});
      if (whole != Reach::kOk) return whole;
    }
  }
  bool intact = true;
  const std::byte* next = from.data();
  const Reach reach = walk(offset, from.size(), Rights::kWrite, [&](const Piece& piece) {
    raw_copy::copy_bytes(piece.host, next, piece.size);
    next += piece.size;
    intact = intact && !piece.file->failed();
  });
  return reach == Reach::kOk && !intact ? Reach::kFailed : reach;
}

Reach PageList::prefetch(std::uint64_t offset, std::uint64_t length, Rights need) {
  return walk(offset, length, need, [need](const Piece& piece) {
    raw_copy::prefetch_lines(piece.host, piece.size, need == Rights::kWrite);
  });
}

Reach PageList::locate_index(std::uint64_t offset, Rights need, Piece& piece) {
  if (offset % sizeof(std::uint32_t) != 0) return Reach::kOutside;
  // Aligned, so it lies within a page and is one piece.
  return walk(offset, sizeof(std::uint32_t), need, [&](const Piece& found) { piece = found; });
}

Reach PageList::load_index(std::uint64_t offset, std::uint32_t& value) {
  Piece piece{};
  const Reach reach = locate_index(offset, Rights::kRead, piece);
  if (reach != Reach::kOk) return reach;
  const std::uint32_t loaded = raw_copy::load_index(piece.host);
  if (piece.file->failed()) return Reach::kFailed;
  value = loaded;
  return Reach::kOk;
}

Reach PageList::store_index(std::uint64_t offset, std::uint32_t value) {
  Piece piece{};
  const Reach reach = locate_index(offset, Rights::kWrite, piece);
  if (reach != Reach::kOk) return reach;
  raw_copy::store_index(piece.host, value);
  return piece.file->failed() ? Reach::kFailed : Reach::kOk;
}

}  // namespace paravane
