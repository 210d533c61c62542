#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <span>
#include <string>
#include <utility>

#include "guestmem/memory_file.h"
#include "guestmem/page_list.h"

namespace paravane {
namespace {

constexpr std::uint64_t kEntriesPerPage = 512;
constexpr std::uint64_t kFewRuns = 64;  // are put together at once
constexpr std::size_t kSourcesSearched = 64;

}  // namespace

Result<PageListBuilder> PageListBuilder::start(GuestMemory& memory, GuestAddr directory,
                                               std::uint64_t pages, Rights need) {
  if (pages == 0 || pages > kMaxDirectoryPages) {
    return fail(Errc::kOutOfRange, "page directory: zero or too many pages");
  }
  if (!page_aligned(directory.value)) {
    return fail(Errc::kInvalidArgument, "page directory: not page aligned");
  }
  PageListBuilder builder(memory, need);
  builder.pages_ = pages;
  builder.tables_.resize((pages - 1) / kEntriesPerPage + 1);
  const Status copied =
      memory.copy_in(directory, std::as_writable_bytes(std::span(builder.tables_)));
  if (!copied) return std::unexpected(copied.error());
  return builder;
}

PageListBuilder::PageListBuilder(GuestMemory& memory, Rights need) {
  list_.memory_ = &memory;
  list_.rights_ = need;
  list_.epoch_ = memory.epoch_;
  list_.charge_ = PageListCharge(memory.list_account_);
}

Result<PageList> PageListBuilder::of_stretches(GuestMemory& memory,
                                               const state::ListView<Stretch>& stretches,
                                               Rights need) {
  PageListBuilder builder(memory, need);
  std::uint64_t charged = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (Status taken = builder.take_in_stretch(stretches[i]); !taken) {
      return std::unexpected(taken.error());
    }
    if (builder.runs_ - charged < kEntriesPerPage && i + 1 < stretches.size()) continue;
    if (Status paid = builder.charge_more(); !paid) return std::unexpected(paid.error());
    charged = builder.runs_;
  }
  while (!builder.assemble(kMaxDirectoryPages)) continue;
  return builder.take();
}

// Range by range of the map: a guest may have registered the same gigabyte a hundred thousand
// times.
Status PageListBuilder::take_in_stretch(const Stretch& stretch) {
  std::uint64_t address = stretch.address.get();
  std::uint64_t pages = stretch.pages.get();
  while (pages > 0) {
    if (Status taken = take_in_page(address); !taken) return taken;
    const std::uint64_t left = range_size_ - (address - range_first_);
    const std::uint64_t here = std::min(pages, left / kPageBytes);
    list_.pages_ += static_cast<std::uint32_t>(here - 1);
    address += here * kPageBytes;
    pages -= here;
    next_page_ = address;
  }
  return {};
}

Result<bool> PageListBuilder::advance(std::uint32_t tables) {
  touched_ = 0;
  if (list_.epoch_ != list_.memory_->epoch_) {
    return fail(Errc::kBadState, "page directory: the device was reset in the meantime");
  }
  for (std::uint32_t i = 0; i < tables && done_ < pages_; ++i) {
    const std::uint64_t table = tables_[done_ / kEntriesPerPage].get();
    const std::uint64_t count = std::min(kEntriesPerPage, pages_ - done_);
    touched_ += static_cast<std::uint32_t>(count);
    if (Status taken = take_in_table(table, count); !taken) return std::unexpected(taken.error());
    done_ += count;
  }
  if (done_ < pages_) return false;
  return assemble(tables * kEntriesPerPage - touched_);
}

bool PageListBuilder::assemble(std::uint64_t budget) {
  list_.run_count_ = static_cast<std::uint32_t>(runs_);
  if (runs_ == 1) assembled_ = 1;
  if (runs_ > 1 && list_.runs_ == nullptr) {  // exactly: what is charged is what is used
    list_.runs_ = std::make_unique_for_overwrite<PageList::Run[]>(runs_);
  }
  if (runs_ <= kFewRuns) budget = kFewRuns;  // with the last of their pages
  while (assembled_ < runs_ && budget > 0) {
    Runs& piece = pieces_[assembled_ / kPieceRuns];
    const std::size_t from = assembled_ % kPieceRuns;
    const auto count = std::min<std::size_t>(budget, piece.size() - from);
    std::ranges::copy(std::span(piece).subspan(from, count), &list_.runs_[assembled_]);
    assembled_ += static_cast<std::uint32_t>(count);
    budget -= count;
    touched_ += static_cast<std::uint32_t>(count);
    if (from + count == piece.size()) piece = Runs();
  }
  return assembled_ == runs_;
}

Status PageListBuilder::take_in_table(std::uint64_t table, std::uint64_t pages) {
  if (table == 0 || !page_aligned(table)) {
    return fail(Errc::kInvalidArgument, "page directory: a table is missing or not page aligned");
  }
  std::array<std::uint64_t, kEntriesPerPage> entries;  // most lists are short: not cleared
  const std::span used = std::span(entries).first(pages);
  const Status copied = list_.memory_->copy_in(GuestAddr{table}, std::as_writable_bytes(used));
  if (!copied) return copied;
  // The map may have changed since the last slice.
  if (range_generation_ != list_.memory_->generation()) range_size_ = 0;
  for (const std::uint64_t entry : used) {
    const std::uint64_t page = std::bit_cast<Le64>(entry).get();
    if (page == next_page_ && page != 0 && is_in_range(page)) {
      ++list_.pages_;  // it continues the last run, which ends with a page of this range
      next_page_ += kPageBytes;
    } else if (Status taken = take_in_page(page); !taken) {
      return taken;
    }
  }
  return charge_more();
}

// After each table, so that a refused list never holds much more than it may.
Status PageListBuilder::charge_more() {
  const auto& more = list_.more_sources_;
  const std::uint64_t room = 1 + (more == nullptr ? 0 : more->capacity());  // for sources
  const std::uint64_t bytes = runs_ * sizeof(PageList::Run) + room * sizeof(PageList::Source);
  const std::uint64_t quota = list_.memory_->page_list_quota();
  if (!list_.charge_.add(bytes - charged_, quota)) {
    return fail(Errc::kResourceExhausted, "page directory: the quota of page_list_bytes, " +
                                              std::to_string(quota) +
                                              " bytes for all lists of pages, is used up");
  }
  charged_ = bytes;
  return {};
}

Status PageListBuilder::take_in_page(std::uint64_t page) {
  if (!page_aligned(page)) {
    return fail(Errc::kInvalidArgument, "page directory: a page is not page aligned");
  }
  if (!is_in_range(page)) {
    if (Status found = find_range(page); !found) return found;
    if (!is_in_range(page))
      return fail(Errc::kOutOfRange, "page directory: a page is only partly mapped");
  }
  add_page(page, (range_file_offset_ + (page - range_first_)) / kPageBytes);
  return {};
}

// Joins the page to the last run if it continues that: its offset in the file does so if its
// address does, since both are of one source.
void PageListBuilder::add_page(std::uint64_t page, std::uint64_t file_page) {
  const std::uint32_t number = list_.pages_++;
  const std::uint64_t follower = std::exchange(next_page_, page + kPageBytes);
  if (runs_ != 0 && page != 0 && page == follower) {
    const PageList::Run& last = last_run();
    if (last.source() == range_source_ && last.generation() == range_generation_) return;
  }
  add_run({range_generation_, range_source_, number, file_page});
}

void PageListBuilder::add_run(const PageList::Run& run) {
  if (runs_ == 0) {
    list_.only_run_ = run;
    ++runs_;
    return;
  }
  if (runs_ == 1) pieces_.emplace_back().push_back(list_.only_run_);
  if (runs_ % kPieceRuns == 0) {
    pieces_.emplace_back();
    pieces_.back().reserve(kPieceRuns);  // a list this long fills more of them
  }
  pieces_.back().push_back(run);
  ++runs_;
}

// Looks at the sources that came last. A guest's RAM has a few; one that is not found again costs
// the list another source.
std::size_t PageListBuilder::number_of_source(const std::shared_ptr<MemoryFile>& file,
                                              std::uint64_t distance) {
  const std::size_t count = sources();
  const std::size_t end = count > kSourcesSearched ? count - kSourcesSearched : 0;
  for (std::size_t number = count; number-- > end;) {
    const PageList::Source& known = list_.source(number);
    if (known.file == file && known.distance == distance) return number;
  }
  if (count == 0) {
    list_.first_source_ = {file, distance};
  } else {
    auto& more = list_.more_sources_;
    if (more == nullptr) more = std::make_unique<std::vector<PageList::Source>>();
    more->push_back({file, distance});
  }
  return count;
}

std::uint64_t PageListBuilder::sources() const {
  if (list_.first_source_.file == nullptr) return 0;
  return 1 + (list_.more_sources_ == nullptr ? 0 : list_.more_sources_->size());
}

Status PageListBuilder::find_range(std::uint64_t page) {
  const auto range = list_.memory_->find(page);
  if (range == list_.memory_->ranges_.end()) {
    return fail(Errc::kOutOfRange, "page directory: a page is not mapped");
  }
  const GuestMemory::Range& shown = range->second;
  if (shown.file == nullptr || !allows(shown.rights, list_.rights_)) {
    return fail(Errc::kInvalidArgument, "page directory: access to a page is denied");
  }
  if (shown.file->failed()) return fail(Errc::kIo, "page directory: the memory has failed");
  range_source_ = number_of_source(shown.file, range->first - shown.file_offset);
  range_first_ = range->first;
  range_size_ = shown.size;
  range_file_offset_ = shown.file_offset;
  range_generation_ = list_.memory_->generation();
  return {};
}

PageList PageListBuilder::take() {
  assert(assembled_ == runs_);
  return std::move(list_);
}

}  // namespace paravane
