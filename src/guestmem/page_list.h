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

#include <cstddef>
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
#include "state/reader.h"
#include "state/writer.h"

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

  // Writes the addresses of all pages (docs/state.md); of a list that was ended, none.
  void save(state::Writer& out) const;
  // A list of the same pages. Memory that is not shown now, or not with that right, makes the whole
  // list absent for as long as it lives, as does a quota that is used up: a guest must not be able
  // to prevent that it is loaded. REQUIRES: `memory` outlives the list.
  static PageList load(state::Reader& in, GuestMemory& memory, Rights need);

  std::uint64_t size_bytes() const { return pages_ * kPageBytes; }
  std::size_t run_count() const { return run_count_; }
  // The pages of the daemon's memory that the list occupies, rounded up.
  std::uint32_t pages_kept() const {
    return static_cast<std::uint32_t>((run_count_ * sizeof(Run) + kPageBytes - 1) / kPageBytes);
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

  // A file of guest memory, and how far its bytes are from their guest addresses: the address minus
  // the offset in the file, modulo 2^64. Most lists have one.
  struct Source {
    std::shared_ptr<MemoryFile> file;  // kept mapped while runs remember it
    std::uint64_t distance = 0;
  };

  // Adjacent pages of one source, up to the first page of the next run. A gigabyte of scattered
  // pages has 262,144 runs, so the four numbers share two words.
  class Run {
   public:
    // The map changes less than 2^46 times in the life of a daemon, a list has at most 2^18 pages,
    // and so as many runs and sources, and a process can map less than 2^46 pages.
    static constexpr unsigned kListBits = 18;
    static constexpr std::uint64_t kGenerations = (std::uint64_t{1} << 46) - 1;

    Run() = default;
    Run(std::uint64_t generation, std::uint64_t source, std::uint64_t first_page,
        std::uint64_t file_page)
        : validity_(source << 46 | generation), place_(file_page << kListBits | first_page) {}

    // Of the map, when the run was last valid.
    std::uint64_t generation() const { return validity_ & kGenerations; }
    void set_generation(std::uint64_t generation) {
      validity_ = (validity_ & ~kGenerations) | generation;
    }
    std::size_t source() const { return validity_ >> 46; }  // its number in the list
    std::uint32_t first_page() const {                      // of the list
      return static_cast<std::uint32_t>(place_ & ((1u << kListBits) - 1));
    }
    std::uint64_t first_byte() const { return first_page() * kPageBytes; }
    std::uint64_t file_offset() const { return (place_ >> kListBits) * kPageBytes; }

   private:
    std::uint64_t validity_;
    std::uint64_t place_;
  };
  static_assert(sizeof(Run) == 16 && std::uint64_t{1} << Run::kListBits == kMaxDirectoryPages);

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

  // Runs are named by their numbers.
  std::size_t run_at(std::uint64_t offset);
  Run* runs() { return run_count_ == 1 ? &only_run_ : runs_.get(); }
  const Run* runs() const { return run_count_ == 1 ? &only_run_ : runs_.get(); }
  // Behind the last page of the run.
  std::uint32_t end_of(std::size_t run) const {
    return run + 1 < run_count_ ? runs_[run + 1].first_page() : pages_;
  }
  std::uint64_t size_of(std::size_t run) const {
    return (end_of(run) - runs()[run].first_page()) * kPageBytes;
  }
  bool holds(std::size_t run, std::uint32_t page) const {
    return page >= runs()[run].first_page() && page < end_of(run);
  }
  const Source& source(std::size_t number) const {
    return number == 0 ? first_source_ : (*more_sources_)[number - 1];
  }
  MemoryFile& file_of(const Run& run) const { return *source(run.source()).file; }
  // Whether [from, from+length) of the run can be accessed.
  Reach check(std::size_t run, std::uint64_t from, std::uint64_t length);
  Reach check_again(std::size_t run, std::uint64_t from, std::uint64_t length);
  // Whether all of the run can be accessed; nullopt: it is in too many ranges to look at.
  std::optional<bool> check_whole(std::size_t run);
  std::optional<bool> shows(const Run& run, std::uint64_t from, std::uint64_t length,
                            std::uint64_t most_ranges) const;
  Reach check_arguments(std::uint64_t offset, std::uint64_t length, Rights need) const;
  std::uint64_t address_of(std::size_t run) const {
    return runs()[run].file_offset() + source(runs()[run].source()).distance;
  }
  // Calls each(Piece) for the pieces of [offset, offset+length) in order, until one cannot be
  // accessed.
  template <typename Each>
  Reach walk(std::uint64_t offset, std::uint64_t length, Rights need, Each each);
  // Finds the four bytes of an index as one piece.
  Reach locate_index(std::uint64_t offset, Rights need, Piece& piece);

  // Most lists have one run, and nearly all have one source: these are allocated with the list.
  Run only_run_{};
  std::unique_ptr<Run[]> runs_;  // of a list with several; by first_page(), without gaps
  Source first_source_;
  std::unique_ptr<std::vector<Source>> more_sources_;
  PageListCharge charge_;
  // The run that was last found in too many ranges, by its first page, and the map's generation.
  std::uint64_t scattered_generation_ = 0;
  std::uint32_t scattered_page_ = 0;
  std::uint32_t run_count_ = 0;
  std::uint32_t last_run_ = 0;  // where the last access was
  std::uint32_t pages_ = 0;
  std::uint64_t epoch_ = 0;  // lists of earlier epochs were ended by end_lists()
  // Last, because views read these for each access: an owner puts its rings behind the list.
  GuestMemory* memory_ = nullptr;
  Rights rights_ = Rights::kNone;
};

// PageListBuilder: builds a PageList in slices, so that registering a gigabyte does not delay other
// VMs. Call advance() until it returns true. The number of runs is known only at the end, so the
// runs are first collected in pieces and then joined, in slices too.
class PageListBuilder {
 public:
  // Errors: as PageList::from_directory().
  static Result<PageListBuilder> start(GuestMemory& memory, GuestAddr directory,
                                       std::uint64_t pages, Rights need);
  // Pages whose addresses follow one another, as they are saved.
  struct Stretch {
    Le64 address;
    Le32 pages;
  };
  // The list of these pages, which stand in no directory. REQUIRES: the addresses do not wrap, and
  // there are at most kMaxDirectoryPages. Errors: as PageList::from_directory().
  static Result<PageList> of_stretches(GuestMemory& memory,
                                       const state::ListView<Stretch>& stretches, Rights need);

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

  PageListBuilder(GuestMemory& memory, Rights need);

  Status take_in_stretch(const Stretch& stretch);
  Status take_in_table(std::uint64_t table, std::uint64_t pages);
  Status charge_more();
  // Moves at most `budget` runs into the list. True: the list has all runs.
  bool assemble(std::uint64_t budget);
  // Whether the whole page is in the range of the last one.
  bool is_in_range(std::uint64_t page) const {
    const std::uint64_t offset = page - range_first_;
    return offset < range_size_ && kPageBytes <= range_size_ - offset;
  }
  Status take_in_page(std::uint64_t page);
  Status find_range(std::uint64_t page);
  void add_page(std::uint64_t page, std::uint64_t file_page);
  void add_run(const PageList::Run& run);
  const PageList::Run& last_run() const {
    return runs_ == 1 ? list_.only_run_ : pieces_.back().back();
  }
  std::uint64_t sources() const;
  // The number of the source in the list, which may be new.
  std::size_t number_of_source(const std::shared_ptr<MemoryFile>& file, std::uint64_t distance);

  PageList list_;
  std::vector<Le64> tables_;  // copied once, from the directory
  std::vector<Runs> pieces_;  // of several; each has kPieceRuns runs, except the last
  std::uint64_t runs_ = 0;    // the only one, or in all pieces
  std::uint64_t charged_ = 0;
  std::uint32_t touched_ = 0;
  std::uint32_t assembled_ = 0;  // runs that are in the list
  std::uint64_t pages_ = 0;      // of the directory
  std::uint64_t done_ = 0;
  // The address that would continue the last run, if it is of the same source.
  std::uint64_t next_page_ = 0;
  // The range of the last page, because the next page is usually in the same range.
  std::uint64_t range_first_ = 0;
  std::uint64_t range_size_ = 0;
  std::uint64_t range_file_offset_ = 0;
  std::size_t range_source_ = 0;
  std::uint64_t range_generation_ = 0;
};

}  // namespace paravane
