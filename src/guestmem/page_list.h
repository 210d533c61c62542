// PageList: the guest pages of a ring or a memory region. The guest specifies them once, at
// creation or registration, and they are used for the life of the object.
//
// The addresses are copied from the guest's page directory, validated, and merged into runs of
// adjacent pages. After the VMM has changed the DMA map, a run is checked again before its next
// use. If its range was unmapped, the run is absent until the same part of the same file is mapped
// at the same address again, with the same rights. Runs that are not used are not checked, so a
// change of the map costs little.
//
// A PVRDMA page directory is one page of 512 table addresses, and each table has 512 page
// addresses. A list has at most 262,144 pages (1 GiB). Its memory is charged to the guest's account
// (GuestMemory::Limits). A list must not outlive the GuestMemory. Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/wire_int.h"
#include "guestmem/extent.h"
#include "guestmem/guest_addr.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list_account.h"

namespace paravane {

inline constexpr std::uint64_t kMaxDirectoryPages = std::uint64_t{512} * 512;

class PageList {
 public:
  PageList() = default;

  // Reads the whole directory at once. This is for lists that are always short; use PageListBuilder
  // for others. REQUIRES: `memory` outlives the list. Errors: kOutOfRange (zero or too many pages,
  // or a page that is not completely mapped), kInvalidArgument (an address that is not page
  // aligned, a missing table, or a missing right), kBadState (DMA is off, or a table was unmapped a
  // moment ago), kIo (the memory failed), kResourceExhausted (the quota
  // GuestMemory::Limits::page_list_bytes).
  static Result<PageList> from_directory(GuestMemory& memory, GuestAddr directory,
                                         std::uint64_t pages, Rights need);

  std::uint64_t size_bytes() const { return size_bytes_; }
  std::size_t run_count() const { return runs_.size(); }
  // The pages of the daemon's memory that the list occupies, rounded up.
  std::uint32_t pages_kept() const {
    return static_cast<std::uint32_t>((runs_.capacity() * sizeof(Run) + kPageBytes - 1) /
                                      kPageBytes);
  }

  // Whether every byte can be accessed at the moment. Checks every run.
  Reach reach();

  // Appends the extents of [offset, offset+length) of the list to `out`. If the result is not kOk,
  // `out` is unchanged.
  Reach resolve(std::uint64_t offset, std::uint64_t length, Rights need, ExtentList& out);

  // Copy a whole object. When the call returns, the guest cannot change the copy any more.
  Reach copy_in(std::uint64_t offset, std::span<std::byte> to);
  Reach copy_out(std::uint64_t offset, std::span<const std::byte> from);

  // Fetches the cache lines of bytes that will be read or written in this turn.
  Reach prefetch(std::uint64_t offset, std::uint64_t length, Rights need);

  // Access a ring index that is shared with the guest (32 bits, little-endian, aligned).
  // load_index() has acquire semantics, so entries that are read after it are at least as new as
  // the index. store_index() has release semantics, so a reader that sees the index also sees the
  // entries that were written before it.
  Reach load_index(std::uint64_t offset, std::uint32_t& value);
  Reach store_index(std::uint64_t offset, std::uint32_t value);

 private:
  friend class PageListBuilder;
  friend class PageView;

  // Keep this small, because a gigabyte of scattered pages has 262,144 runs.
  struct Run {
    std::uint64_t iova;
    std::uint64_t file_offset;
    MemoryFile* file;          // one of files_
    std::uint64_t generation;  // of the map when the run was last valid
    std::uint32_t first_page;  // of the list
    std::uint32_t pages;

    std::uint64_t first_byte() const { return first_page * kPageBytes; }
    std::uint64_t size() const { return pages * kPageBytes; }
    bool holds(std::uint64_t page) const { return page - first_page < pages; }
  };

  // A piece of memory while it is being accessed.
  struct Piece {
    std::byte* host;
    std::uint64_t size;
    const MemoryFile* file;
  };

  // A run as one piece, and the offset in the list at which it begins.
  struct Span {
    Piece piece;
    std::uint64_t first;
  };
  // The run that holds [offset, offset+length); nullopt: no single run does, or not the whole run
  // can be accessed.
  std::optional<Span> span_at(std::uint64_t offset, std::uint64_t length, Rights need);

  Run& run_at(std::uint64_t offset);
  // Whether [from, from+length) of the run can be accessed.
  Reach check(Run& run, std::uint64_t from, std::uint64_t length);
  Reach check_again(Run& run, std::uint64_t from, std::uint64_t length);
  // Whether all of the run can be accessed; nullopt: it is in too many ranges to look at.
  std::optional<bool> check_whole(Run& run);
  std::optional<bool> shows(const Run& run, std::uint64_t from, std::uint64_t length,
                            std::uint64_t most_ranges) const;
  Reach check_arguments(std::uint64_t offset, std::uint64_t length, Rights need) const;
  // Calls each(Piece) for the pieces of [offset, offset+length) in order, until one cannot be
  // accessed.
  template <typename Each>
  Reach walk(std::uint64_t offset, std::uint64_t length, Rights need, Each each);
  // Finds the four bytes of an index as one piece.
  Reach locate_index(std::uint64_t offset, Rights need, Piece& piece);

  GuestMemory* memory_ = nullptr;
  Rights rights_ = Rights::kNone;
  std::vector<Run> runs_;                           // by first_page, without gaps
  std::vector<std::shared_ptr<MemoryFile>> files_;  // kept mapped while runs remember them
  PageListCharge charge_;
  std::uint64_t epoch_ = 0;  // lists of earlier epochs were ended by end_lists()
  std::uint64_t size_bytes_ = 0;
  std::size_t last_run_ = 0;  // where the last access was
  // The run that was last found in too many ranges, by its first page, and the map's generation.
  std::uint64_t scattered_generation_ = 0;
  std::uint32_t scattered_page_ = 0;
};

// PageListBuilder: builds a PageList in slices, so that registering a gigabyte does not delay other
// VMs. Call advance() until it returns true. The number of runs is known only at the end, so the
// runs are first collected in pieces and then joined, in slices too.
class PageListBuilder {
 public:
  // Errors: as PageList::from_directory().
  static Result<PageListBuilder> start(GuestMemory& memory, GuestAddr directory,
                                       std::uint64_t pages, Rights need);

  // Processes at most `tables` x 512 entries, which are pages at first and later runs to be joined.
  // True: the list is complete. Some more calls may be necessary after the last table. Errors: as
  // PageList::from_directory(), and kBadState if GuestMemory::end_lists() was called in the
  // meantime. After an error the builder cannot be used.
  Result<bool> advance(std::uint32_t tables);

  // The number of entries that the last advance() processed, even if it failed.
  std::uint32_t last_touched() const { return touched_; }

  // REQUIRES: advance() returned true.
  PageList take();

 private:
  using Runs = std::vector<PageList::Run>;
  static constexpr std::size_t kPieceRuns = 4096;

  PageListBuilder() = default;

  Status take_in_table(std::uint64_t table, std::uint64_t pages);
  Status charge_more();
  // Moves at most `budget` runs into the list. True: the list has all runs.
  bool assemble(std::uint64_t budget);
  Status take_in_page(std::uint64_t page);
  Status find_range(std::uint64_t page);
  void add_page(std::uint64_t page, std::uint64_t file_offset);
  void add_run(const PageList::Run& run);
  void remember(const std::shared_ptr<MemoryFile>& file);

  PageList list_;
  std::vector<Le64> tables_;  // copied once, from the directory
  std::vector<Runs> pieces_;  // each has kPieceRuns runs, except the last
  std::uint64_t runs_ = 0;    // in all pieces
  std::uint64_t charged_ = 0;
  std::uint32_t touched_ = 0;
  bool assembled_ = false;
  std::vector<bool> remembered_;  // by MemoryFile::number(): the list holds the file
  std::uint64_t pages_ = 0;
  std::uint64_t done_ = 0;
  // The range of the last page, because the next page is usually in the same range.
  std::uint64_t range_first_ = 0;
  std::uint64_t range_size_ = 0;
  std::uint64_t range_file_offset_ = 0;
  MemoryFile* range_file_ = nullptr;
  std::uint64_t range_generation_ = 0;
};

}  // namespace paravane
