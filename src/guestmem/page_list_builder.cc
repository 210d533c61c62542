#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <utility>

#include "guestmem/memory_file.h"
#include "guestmem/page_list.h"

namespace paravane {
namespace {

constexpr std::uint64_t kEntriesPerPage = 512;

}  // namespace

Result<PageListBuilder> PageListBuilder::start(GuestMemory& memory, GuestAddr directory,
                                               std::uint64_t pages, Rights need) {
  if (pages == 0 || pages > kMaxDirectoryPages) {
    return fail(Errc::kOutOfRange, "page directory: zero or too many pages");
  }
  if (!page_aligned(directory.value)) {
    return fail(Errc::kInvalidArgument, "page directory: not page aligned");
  }
  PageListBuilder builder;
  builder.pages_ = pages;
  builder.tables_.resize((pages - 1) / kEntriesPerPage + 1);
  const Status copied =
      memory.copy_in(directory, std::as_writable_bytes(std::span(builder.tables_)));
  if (!copied) return std::unexpected(copied.error());
  builder.list_.memory_ = &memory;
  builder.list_.rights_ = need;
  builder.list_.epoch_ = memory.epoch_;
  builder.list_.charge_ = PageListCharge(memory.list_account_);
  return builder;
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
  Runs& runs = list_.runs_;
  if (pieces_.size() == 1 && pieces_[0].capacity() == runs_) {
    runs = std::exchange(pieces_[0], {});
    assembled_ = true;
  }
  if (assembled_) return true;
  runs.reserve(runs_);  // exactly: what is charged is what is used
  while (runs.size() < runs_ && budget > 0) {
    Runs& piece = pieces_[runs.size() / kPieceRuns];
    const std::size_t from = runs.size() % kPieceRuns;
    const auto count = std::min<std::size_t>(budget, piece.size() - from);
    const std::span part = std::span(piece).subspan(from, count);
    runs.insert(runs.end(), part.begin(), part.end());
    budget -= count;
    touched_ += static_cast<std::uint32_t>(count);
    if (from + count == piece.size()) piece = Runs();
  }
  assembled_ = runs.size() == runs_;
  return assembled_;
}

Status PageListBuilder::take_in_table(std::uint64_t table, std::uint64_t pages) {
  if (table == 0 || !page_aligned(table)) {
    return fail(Errc::kInvalidArgument, "page directory: a table is missing or not page aligned");
  }
  std::array<Le64, kEntriesPerPage> entries;
  const std::span used = std::span(entries).first(pages);
  const Status copied = list_.memory_->copy_in(GuestAddr{table}, std::as_writable_bytes(used));
  if (!copied) return copied;
  // The map may have changed since the last slice.
  if (range_generation_ != list_.memory_->generation()) range_size_ = 0;
  for (const Le64 entry : used) {
    if (Status taken = take_in_page(entry.get()); !taken) return taken;
  }
  return charge_more();
}

// After each table, so that a refused list never holds much more than it may.
Status PageListBuilder::charge_more() {
  const std::uint64_t bytes =
      runs_ * sizeof(PageList::Run) + list_.files_.size() * sizeof(list_.files_[0]);
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
  const auto in_range = [&] {
    const std::uint64_t offset = page - range_first_;
    return offset < range_size_ && kPageBytes <= range_size_ - offset;
  };
  if (!in_range()) {
    if (Status found = find_range(page); !found) return found;
    if (!in_range()) return fail(Errc::kOutOfRange, "page directory: a page is only partly mapped");
  }
  add_page(page, range_file_offset_ + (page - range_first_));
  return {};
}

// Joins the page to the last run if both addresses continue it.
void PageListBuilder::add_page(std::uint64_t page, std::uint64_t file_offset) {
  const auto number = static_cast<std::uint32_t>(list_.size_bytes_ / kPageBytes);
  list_.size_bytes_ += kPageBytes;
  if (runs_ != 0) {
    PageList::Run& last = pieces_.back().back();
    const bool continues =
        page > last.iova && page - last.iova == last.size() && last.file == range_file_ &&
        last.file_offset + last.size() == file_offset && last.generation == range_generation_;
    if (continues) {
      ++last.pages;
      return;
    }
  }
  add_run({.iova = page,
           .file_offset = file_offset,
           .file = range_file_,
           .generation = range_generation_,
           .first_page = number,
           .pages = 1});
}

void PageListBuilder::add_run(const PageList::Run& run) {
  if (runs_ % kPieceRuns == 0) {
    pieces_.emplace_back();
    if (runs_ != 0) pieces_.back().reserve(kPieceRuns);  // a list this long fills more of them
  }
  pieces_.back().push_back(run);
  ++runs_;
}

void PageListBuilder::remember(const std::shared_ptr<MemoryFile>& file) {
  const std::uint32_t number = file->number();
  if (number >= remembered_.size()) remembered_.resize(number + 1);
  if (remembered_[number]) return;
  remembered_[number] = true;
  list_.files_.push_back(file);
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
  remember(shown.file);
  range_first_ = range->first;
  range_size_ = shown.size;
  range_file_offset_ = shown.file_offset;
  range_file_ = shown.file.get();
  range_generation_ = list_.memory_->generation();
  return {};
}

PageList PageListBuilder::take() {
  assert(assembled_);
  return std::move(list_);
}

}  // namespace paravane
