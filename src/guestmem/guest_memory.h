// GuestMemory: the daemon's only access to the memory of one guest.
//
// The guest can change any byte at any time, even between two reads in the same check. Code outside
// this folder therefore never holds a pointer or a reference to guest memory. It copies a whole
// object out of guest memory, makes its decisions from the copy, and copies a whole object back.
// Reading an address twice, once to check a value and once to use it, is a security bug.
//
// The VMM passes memory files, and specifies which part of a file each IOVA range refers to
// (vfio-user DMA_MAP). The daemon maps each file once and as a whole, and a range only refers to a
// part of that mapping. Firmware remaps all RAM dozens of times, so a file stays mapped for a while
// after its last range was removed (expire_files()). A file that has grown or become writable is
// mapped again when a range needs that.
//
// Every access fails while the guest's Bus Master Enable bit is off. Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/instant.h"
#include "base/owner_thread.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "guestmem/address_set.h"
#include "guestmem/ended_mapping.h"
#include "guestmem/extent.h"
#include "guestmem/guest_addr.h"
#include "guestmem/loans.h"
#include "guestmem/page_list_account.h"
#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane {

class MemoryFile;

// The types that can be copied from and to guest memory. They have no padding, so a write cannot
// leak host memory.
template <typename T>
concept GuestCopyable =
    std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;

enum class Rights : std::uint8_t { kNone = 0, kRead = 1, kWrite = 2, kReadWrite = 3 };

// The result of an attempt to access guest memory. It has no text, because it is used on the data
// path.
enum class Reach : std::uint8_t {
  kOk,
  kOutside,  // beyond the object, or never mapped
  kAbsent,   // its range was unmapped and may be mapped again
  kDenied,   // the range does not allow this
  kFailed,   // the memory failed (SIGBUS), so the VM loses its device
};

class GuestMemory {
 public:
  struct Limits {
    // The total size of all files that are mapped for this VM. The same amount may additionally
    // wait to be unmapped.
    std::uint64_t bytes = std::uint64_t{1} << 40;
    // One message may unmap all ranges, and the work per turn must be bounded. QEMU uses dozens of
    // ranges.
    std::uint32_t ranges = 16384;
    std::uint32_t files = 64;
    // How long a file without ranges stays mapped, and how long an unmapped address is expected to
    // be mapped again.
    Duration keep_idle = std::chrono::seconds(10);
    // The total memory of all page lists; 0: the limit depends on the mapped files, see
    // page_list_quota().
    std::uint64_t page_list_bytes = 0;
  };

  // Used if Limits::page_list_bytes is 0. The quota is enough to register every mapped page twice,
  // even if no two pages are adjacent (16 bytes per page). It is never below kLeastListQuota, which
  // is enough for small guests and for the first objects of a driver.
  static constexpr std::uint64_t kListBytesPerMappedPage = 32;
  static constexpr std::uint64_t kLeastListQuota = std::uint64_t{8} << 20;

  explicit GuestMemory(Limits limits);
  GuestMemory();
  ~GuestMemory();
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  // Sets the object that unmaps files which are no longer used. It outlives this object. Without
  // one, files are unmapped immediately, which takes long if much of the memory was touched.
  void end_mappings_through(MappingSink* sink) { mapping_end_.sink = sink; }

  // Makes the calling thread the owner.
  void rebind_owner() { owner_.rebind(); }

  // ---- The DMA map, told by the VMM ----

  // Maps `size` bytes of `file` from `file_offset` at `iova`. Takes over the descriptor, of which
  // one per file stays open; the file stays mapped while any range shows it. An empty descriptor
  // creates a range that exists but cannot be accessed (kDenied). If the file is read-only, the
  // range is read-only too. Errors: kInvalidArgument (the range wraps around, is empty, is not page
  // aligned, overlaps another range, or exceeds the file), kUnsupported (not a regular file of
  // tmpfs or hugetlbfs), kResourceExhausted (a limit), kIo.
  Status map(UniqueFd file, std::uint64_t file_offset, GuestAddr iova, std::uint64_t size,
             Rights rights);

  // Unmaps every page that [iova, iova+size) touches, so that what remains is whole pages, as it
  // was mapped. It is not an error if nothing is mapped there. `size` may exceed the top of the
  // address space. If splitting a range would exceed the limit of ranges, the upper remainder is
  // unmapped as well.
  void unmap(GuestAddr iova, std::uint64_t size);

  // Unmaps all ranges. Files are released immediately, unless a page list refers to them.
  void unmap_all();

  // Unmaps files that have had no range for Limits::keep_idle. Call it regularly; once a second is
  // enough.
  void expire_files(Instant now);

  // Sets the guest's Bus Master Enable bit. It is off at the start.
  void set_dma_enabled(bool enabled);
  bool dma_enabled() const { return open_epoch_ != 0; }

  // Makes all existing page lists inaccessible, permanently and independently of the DMA map.
  // Builders that have started fail. After a reset of the guest, its old objects can then be
  // destroyed over many turns without accessing its memory. The cost does not depend on the number
  // of lists.
  void end_lists();

  // A number that changes whenever the result of an access to some address may change.
  std::uint64_t generation() const { return generation_; }

  // What RDMA adapters of the host access. It is recalled before any of the memory ends.
  Loans& loans() { return loans_; }

  // A file of guest memory as this process has it mapped.
  struct MappedFile {
    std::shared_ptr<MemoryFile> file;  // keeps it mapped
    std::span<std::byte> bytes;
  };
  // Those that can be written: an RDMA adapter can be given them as a whole.
  std::vector<MappedFile> writable_files() const;
  // A number that changes when what an RDMA adapter was given may no longer be what the guest has
  // there: after a range was unmapped, or a file mapped again.
  std::uint64_t mapping_age() const { return mapping_age_; }
  class MappingWatcher {
   public:
    // mapping_age() has changed. Must not change this memory.
    virtual void on_mapping_age_ended() = 0;

   protected:
    ~MappingWatcher() = default;
  };
  // Throws std::bad_alloc.
  void watch_mappings(std::weak_ptr<MappingWatcher> watcher);

  // True after any file of this guest has failed during an access (SIGBUS).
  bool failed() const;

  // ---- Into another process ----
  // The DMA map with its files, and the Bus Master Enable bit. Page lists save themselves. A file
  // that no range shows is left out.
  void save(state::Writer& out, state::Descriptors& descriptors) const;
  // What map() would refuse, limits included, refuses the state; the map is empty then and DMA off.
  // A file that cannot be written any more makes its ranges read-only, and one that has become
  // shorter fails where something of it is missing, when that is accessed. Comes before page lists,
  // and before whatever asks for dma_enabled(). REQUIRES: nothing was mapped, and DMA is off.
  void load(state::Reader& in, state::Descriptors& descriptors);

  // For diagnosis: whether a range above 1 MiB has no file.
  bool has_range_without_file() const { return large_without_file_ != 0; }

  // Whether any of [from, from+size) has a file, and whether a range above the first MiB can be
  // written and has none, as memory of other devices. Both look at ranges one by one.
  bool shows_file(GuestAddr from, std::uint64_t size) const;
  bool shows_device_memory() const;

  struct Usage {
    std::uint32_t ranges = 0;
    std::uint32_t files = 0;
    std::uint64_t mapped_file_bytes = 0;
    std::uint64_t page_list_bytes = 0;
  };
  Usage usage() const;

  // The limit of Usage::page_list_bytes. It decreases when files are unmapped. Existing lists then
  // stay, and new ones are refused until enough lists are gone.
  std::uint64_t page_list_quota() const;

  // ---- Access ----

  template <GuestCopyable T>
  Result<T> read(GuestAddr addr) const {
    T copy;
    Status status = copy_in(addr, std::as_writable_bytes(std::span(&copy, 1)));
    if (!status) return std::unexpected(status.error());
    return copy;
  }

  template <GuestCopyable T>
  Status write(GuestAddr addr, const T& value) {
    return copy_out(addr, std::as_bytes(std::span(&value, 1)));
  }

  // Copy all bytes or fail. After a failure the content of `to` is unspecified, but no byte outside
  // the guest's ranges was accessed. A copy may cross from one range to an adjacent one.
  Status copy_in(GuestAddr from, std::span<std::byte> to) const;
  Status copy_out(GuestAddr to, std::span<const std::byte> from);

  // Appends the extents of [addr, addr+length) to `out`. If the result is not kOk, `out` is
  // unchanged. This is for memory that is specified by its DMA address at each use (a DMA memory
  // region).
  Reach resolve(GuestAddr addr, std::uint64_t length, Rights need, ExtentList& out) const;
  // The same for memory in one piece; nullopt: not kOk, or in several pieces. REQUIRES: length > 0.
  std::optional<Extent> find_extent(GuestAddr addr, std::uint64_t length, Rights need) const;

 private:
  friend class PageList;  // guestmem/page_list.h: pages resolved at registration
  friend class PageListBuilder;
  friend class GuestMemoryPeer;  // testing/guest_memory_peer.h

  struct Range {
    std::uint64_t size;
    std::shared_ptr<MemoryFile> file;  // shared by the ranges of one file; null: the VMM gave none
    std::uint64_t file_offset;
    Rights rights;
    bool large_without_file() const;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by first address; never overlap

  struct File {
    std::shared_ptr<MemoryFile> file;
    std::optional<Instant> idle_since;  // when expire_files() first saw it unused
    bool idle() const { return file.use_count() == 1; }
  };

  // A part of a range, while it is being accessed.
  struct Piece {
    std::byte* host;
    std::uint64_t size;
    const MemoryFile* file;
  };

  // The range that holds `addr`, or end.
  Ranges::const_iterator find(std::uint64_t addr) const;
  // All of it, if it is in one range and can be accessed; nullopt: walk() says why not.
  std::optional<Piece> find_piece(std::uint64_t addr, std::uint64_t length, Rights need) const;
  Status check_new_range(std::uint64_t file_offset, std::uint64_t iova, std::uint64_t size) const;
  Result<std::shared_ptr<MemoryFile>> file_for(UniqueFd fd, std::uint64_t file_offset,
                                               std::uint64_t size, std::uint64_t as_long = 0);
  void show(std::uint64_t iova, Range range);
  struct SavedRange;
  std::vector<std::shared_ptr<MemoryFile>> load_files(state::Reader& in,
                                                      std::vector<UniqueFd> given,
                                                      const std::vector<std::uint64_t>& sizes);
  void load_ranges(state::Reader& in, std::span<const SavedRange> ranges,
                   const std::vector<std::shared_ptr<MemoryFile>>& files);
  Status make_room_for(std::uint64_t new_bytes, std::uint32_t new_files);
  Status check_ending() const;
  std::uint64_t mapped_file_bytes() const;
  std::uint32_t free_file_number() const;
  // Removes the part of `range` that lies in [first, last].
  void end_mapping_age();
  void cut(Ranges::iterator range, std::uint64_t first, std::uint64_t last);
  // Calls each(Piece) for the pieces of [addr, addr+length) in order, until one cannot be accessed.
  template <typename Each>
  Reach walk(std::uint64_t addr, std::uint64_t length, Rights need, Each each) const;
  Reach reach_whole(std::uint64_t addr, std::uint64_t length, Rights need) const;

  OwnerThread owner_;
  Limits limits_;
  Ranges ranges_;
  mutable Ranges::const_iterator last_found_ = ranges_.end();  // by find()
  std::vector<File> files_;
  AddressSet gone_;  // unmapped a while ago
  std::optional<Instant> gone_since_;
  std::uint32_t large_without_file_ = 0;  // ranges
  MappingEnd mapping_end_;
  PageListAccount list_account_;
  Loans loans_;
  std::uint64_t generation_ = 1;
  std::uint64_t mapping_age_ = 1;
  std::vector<std::weak_ptr<MappingWatcher>> mapping_watchers_;
  // Only page lists of this epoch may be used. 0: DMA is off, and no list may be used. It is a
  // single number because every access checks it.
  std::uint64_t open_epoch_ = 0;
  std::uint64_t epoch_ = 1;  // of the lists made now
};

// Whether `have` allows all that `need` asks for.
constexpr bool allows(Rights have, Rights need) {
  return (static_cast<unsigned>(need) & ~static_cast<unsigned>(have)) == 0;
}

}  // namespace paravane
