// PageList: guest pages that were given once, at registration, and are used for the life of the
// object: the pages of a ring or of a memory region.
//
// The page addresses are copied out of the guest's page directory, validated, and merged into
// runs; guest tables are not read again later. A run records which part of which file it referred
// to. When the VMM changes the DMA map (generation), a run is checked again before its next use. A
// run whose range was unmapped is absent; it is valid again when the same file and offset return
// at the same address with the same rights. The whole run is compared, unless it now spans very
// many ranges: then only the part in use is. Runs that are not used are not checked, so a change
// of the map never costs more than the work in hand.
//
// Page directory (PVRDMA): one directory page of 512 table addresses, each table 512 page
// addresses; at most 262,144 pages = 1 GiB.
//
// The memory of a list is charged to its guest's account (GuestMemory::Limits). A list may outlive
// everything that it records of the map, but not the GuestMemory.
//
// Owner thread only.

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

  // The whole directory at once: for lists that are short by their nature; others are
  // built in slices (below). REQUIRES: `memory` outlives the list.
  // Errors: kOutOfRange (zero or too many pages, an address that is not mapped
  // whole), kInvalidArgument (an address that is not page aligned, a missing
  // table, or a right that is missing), kBadState (DMA is off, or a table was
  // unmapped a moment ago), kIo (the memory failed), kResourceExhausted (the quota
  // GuestMemory::Limits::page_list_bytes).
  static Result<PageList> from_directory(GuestMemory& memory, GuestAddr directory,
                                         std::uint64_t pages, Rights need);

  std::uint64_t size_bytes() const { return size_bytes_; }
  std::size_t run_count() const { return runs_.size(); }
  // Pages of our own memory that the list keeps, rounded up.
  std::uint32_t pages_kept() const {
    return static_cast<std::uint32_t>((runs_.capacity() * sizeof(Run) + kPageBytes - 1) /
                                      kPageBytes);
  }

  // Whether every byte can be reached at this moment; looks at every run.
  Reach reach();

  // Appends the extents of [offset, offset+length) of the list to `out`; on
  // anything but kOk `out` is as it was.
  Reach resolve(std::uint64_t offset, std::uint64_t length, Rights need, ExtentList& out);

  // Whole objects. The copy is complete when the call returns: the guest cannot
  // change it any more.
  Reach copy_in(std::uint64_t offset, std::span<std::byte> to);
  Reach copy_out(std::uint64_t offset, std::span<const std::byte> from);

  // These bytes will be read, or written, in this turn: fetches their cache lines.
  Reach prefetch(std::uint64_t offset, std::uint64_t length, Rights need);

  // A ring index shared with the guest: 32 bits, little-endian, aligned.
  // load_index() is an acquire: entries read after it are at least as new as
  // the index. store_index() is a release: entries written before it are
  // visible to any reader that sees the index.
  Reach load_index(std::uint64_t offset, std::uint32_t& value);
  Reach store_index(std::uint64_t offset, std::uint32_t value);

 private:
  friend class PageListBuilder;

  // Small: a scattered gigabyte has 262,144 of them.
  struct Run {
    std::uint64_t iova;
    std::uint64_t file_offset;
    MemoryFile* file;          // one of files_
    std::uint64_t generation;  // of the map when the run was last found good
    std::uint32_t first_page;  // of the list
    std::uint32_t pages;

    std::uint64_t first_byte() const { return first_page * kPageBytes; }
    std::uint64_t size() const { return pages * kPageBytes; }
    bool holds(std::uint64_t page) const { return page - first_page < pages; }
  };

  // What to access, while it is being accessed.
  struct Piece {
    std::byte* host;
    std::uint64_t size;
    const MemoryFile* file;
  };

  Run& run_at(std::uint64_t offset);
  // Whether [from, from+length) of the run can be reached.
  Reach check(Run& run, std::uint64_t from, std::uint64_t length);
  Reach check_again(Run& run, std::uint64_t from, std::uint64_t length);
  std::optional<bool> shows(const Run& run, std::uint64_t from, std::uint64_t length,
                            std::uint64_t most_ranges) const;
  Reach check_arguments(std::uint64_t offset, std::uint64_t length, Rights need) const;
  // Calls each(Piece) for the pieces of [offset, offset+length), in order, until
  // one cannot be reached.
  template <typename Each>
  Reach walk(std::uint64_t offset, std::uint64_t length, Rights need, Each each);
  // The four bytes of an index, in one piece.
  Reach locate_index(std::uint64_t offset, Rights need, Piece& piece);

  GuestMemory* memory_ = nullptr;
  Rights rights_ = Rights::kNone;
  std::vector<Run> runs_;                           // by first_page, without gaps
  std::vector<std::shared_ptr<MemoryFile>> files_;  // kept mapped while runs remember them
  PageListCharge charge_;
  std::uint64_t epoch_ = 0;  // GuestMemory::end_lists() ends those before
  std::uint64_t size_bytes_ = 0;
  std::size_t last_run_ = 0;  // where the last access was
};

// Builds a PageList in slices, so that registering a gigabyte does not hold up
// other VMs: call advance() until it says done. How many runs there will be is known
// only at the end, so they are gathered in pieces and then put together, in slices too.
class PageListBuilder {
 public:
  // Errors: as PageList::from_directory().
  static Result<PageListBuilder> start(GuestMemory& memory, GuestAddr directory,
                                       std::uint64_t pages, Rights need);

  // Touches at most `tables` x 512 entries: pages of tables that are taken in, and
  // afterwards runs that are put together. True: done. After the last table it may
  // take some more calls. Errors: as PageList::from_directory(), also kBadState when
  // GuestMemory::end_lists() came in between; the builder is of no use then.
  Result<bool> advance(std::uint32_t tables);

  // How many entries the last advance() touched, also when it failed.
  std::uint32_t last_touched() const { return touched_; }

  // REQUIRES: advance() returned true.
  PageList take();

 private:
  using Runs = std::vector<PageList::Run>;
  static constexpr std::size_t kPieceRuns = 4096;

  PageListBuilder() = default;

  Status take_in_table(std::uint64_t table, std::uint64_t pages);
  Status charge_more();
  // Puts at most `budget` runs into the list. True: that was all.
  bool assemble(std::uint64_t budget);
  Status take_in_page(std::uint64_t page);
  Status find_range(std::uint64_t page);
  void add_page(std::uint64_t page, std::uint64_t file_offset);
  void add_run(const PageList::Run& run);
  void remember(const std::shared_ptr<MemoryFile>& file);

  PageList list_;
  std::vector<Le64> tables_;  // copied once, from the directory
  std::vector<Runs> pieces_;  // of kPieceRuns but for the last
  std::uint64_t runs_ = 0;    // in all pieces
  std::uint64_t charged_ = 0;
  std::uint32_t touched_ = 0;
  bool assembled_ = false;
  std::vector<bool> remembered_;  // by MemoryFile::number(): the list holds the file
  std::uint64_t pages_ = 0;
  std::uint64_t done_ = 0;
  // The range of the last page: the next one is usually in it.
  std::uint64_t range_first_ = 0;
  std::uint64_t range_size_ = 0;
  std::uint64_t range_file_offset_ = 0;
  MemoryFile* range_file_ = nullptr;
  std::uint64_t range_generation_ = 0;
};

}  // namespace paravane
