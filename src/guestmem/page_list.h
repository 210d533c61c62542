// PageList: guest pages that were named once, at registration, and are used for
// as long as the object lives: the pages of a ring, or of a memory region.
//
// The page addresses are copied out of the guest's page directory, checked, and
// merged into runs; later nobody walks guest tables. A run remembers which part
// of which file it showed. When the VMM changes the DMA map (generation), runs
// are looked at again before their next use: a run whose range is gone is
// absent, and is good again when the same file and offset return at the same
// address with the same rights.
//
// Page directory (PVRDMA): one directory page of 512 table addresses, each table
// 512 page addresses; at most 262,144 pages = 1 GiB.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "guestmem/extent.h"
#include "guestmem/guest_addr.h"
#include "guestmem/guest_memory.h"

namespace paravane {

inline constexpr std::uint64_t kMaxDirectoryPages = 512 * 512;

class PageList {
 public:
  PageList() = default;

  // The whole directory at once. REQUIRES: `memory` outlives the list.
  // Errors: kOutOfRange (zero or too many pages, an address that is not mapped
  // whole), kInvalidArgument (an address that is not page aligned, or a right
  // that is missing).
  static Result<PageList> from_directory(GuestMemory& memory, GuestAddr directory,
                                         std::uint64_t pages, Rights need);

  std::uint64_t size_bytes() const { return size_bytes_; }
  std::size_t run_count() const { return runs_.size(); }

  // Appends the extents of [offset, offset+length) of the list to `out`; on
  // anything but kOk `out` is as it was.
  Reach resolve(std::uint64_t offset, std::uint64_t length, Rights need, ExtentList& out);

  // Whole objects. The copy is complete when the call returns: the guest cannot
  // change it any more.
  Reach copy_in(std::uint64_t offset, std::span<std::byte> to);
  Reach copy_out(std::uint64_t offset, std::span<const std::byte> from);

  // A ring index shared with the guest: 32 bits, little-endian, aligned.
  // load_index() is an acquire: entries read after it are at least as new as
  // the index. store_index() is a release: entries written before it are
  // visible to whoever sees the index.
  Reach load_index(std::uint64_t offset, std::uint32_t& value);
  Reach store_index(std::uint64_t offset, std::uint32_t value);

 private:
  friend class PageListBuilder;

  struct Run {
    std::uint64_t first_byte;  // offset of the run in the list
    std::uint64_t iova;
    std::uint64_t size;
    std::byte* host;                   // null while absent
    std::shared_ptr<MemoryFile> file;  // kept mapped while the run remembers it
    std::uint64_t file_offset;
  };

  // Looks at all runs again if the DMA map changed since the last look.
  void revalidate();
  Reach find(std::uint64_t offset, std::uint64_t length, const Run*& run);

  GuestMemory* memory_ = nullptr;
  Rights rights_ = Rights::kNone;
  std::vector<Run> runs_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t generation_ = 0;
  bool any_absent_ = false;
};

// Builds a PageList in slices, so that registering a gigabyte does not hold up
// other VMs: call advance() until it says done.
class PageListBuilder {
 public:
  // Errors: as PageList::from_directory().
  static Result<PageListBuilder> start(GuestMemory& memory, GuestAddr directory,
                                       std::uint64_t pages, Rights need);

  // Takes in at most `tables` page tables (512 pages each). True: done.
  Result<bool> advance(std::uint32_t tables);

  // REQUIRES: advance() returned true.
  PageList take();

 private:
  PageListBuilder() = default;

  PageList list_;
  GuestAddr directory_{};
  std::uint64_t pages_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace paravane
