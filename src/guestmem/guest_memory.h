// GuestMemory: the only access to one guest's memory from the daemon.
//
// The guest may rewrite any byte at any time, from another core, on purpose. So no code outside
// this folder ever holds a pointer or reference to guest memory. Callers copy a whole object in,
// decide on the copy, and copy a whole object out. Reading the same guest address twice, to check
// and then to use it, is a security bug.
//
// The VMM passes files and states which IOVA ranges show which part of them (vfio-user DMA_MAP).
// Each distinct file is mapped once and as a whole; a range is only a window on it, so the dozens
// of remaps that firmware causes cost nothing and move nothing. Access rights belong to the range.
//
// Every access fails while DMA is off (the guest's Bus Master Enable bit).
//
// A file stays mapped for a while after its last range was removed (expire_files()), since
// firmware unmaps and maps all of RAM dozens of times. A file that grew, or became writable, is
// mapped again when a range needs that.
//
// Page lists (page_list.h) are charged to the memory that they refer to, because a guest decides
// how long they are: Limits::page_list_bytes.
//
// Owner thread only.

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
#include "guestmem/page_list_account.h"

namespace paravane {

class MemoryFile;

// Types that may cross. No padding, so a write cannot leak host memory.
template <typename T>
concept GuestCopyable =
    std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;

enum class Rights : std::uint8_t { kNone = 0, kRead = 1, kWrite = 2, kReadWrite = 3 };

// What became of an attempt to reach guest memory. On the data path, so no text.
enum class Reach : std::uint8_t {
  kOk,
  kOutside,  // beyond the object, or never mapped
  kAbsent,   // was good, its range is unmapped now; may come back
  kDenied,   // the range does not allow this
  kFailed,   // the memory itself failed (SIGBUS): the device must go
};

class GuestMemory {
 public:
  struct Limits {
    // Of all files mapped for this VM together; and as much may still be coming down.
    std::uint64_t bytes = std::uint64_t{1} << 40;
    // One message may unmap all of them, and each turn is bounded; QEMU has dozens.
    std::uint32_t ranges = 16384;
    std::uint32_t files = 64;
    // How long a file without ranges stays mapped, and how long an address that
    // was unmapped counts as "may come back".
    Duration keep_idle = std::chrono::seconds(10);
    // Of all page lists together; 0: by the mapped files, see page_list_quota().
    std::uint64_t page_list_bytes = 0;
  };

  // With Limits::page_list_bytes = 0: enough to register every mapped page twice, each as
  // scattered as it can be (40 bytes a page), and never less than the floor, which serves
  // small guests and what a driver sets up first.
  static constexpr std::uint64_t kListBytesPerMappedPage = 80;
  static constexpr std::uint64_t kLeastListQuota = std::uint64_t{16} << 20;

  explicit GuestMemory(Limits limits);
  GuestMemory();
  ~GuestMemory();
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  // What is not mapped any more goes there; it outlives this object. Without one it is
  // unmapped at once, which takes long where much was touched.
  void end_mappings_through(MappingSink* sink) { mapping_end_.sink = sink; }

  // This thread is the owner from now on.
  void rebind_owner() { owner_.rebind(); }

  // ---- The DMA map, told by the VMM ----

  // Shows `size` bytes of `file` from `file_offset` at `iova`. Takes the
  // descriptor; the file stays mapped while any range shows it. A descriptor
  // that owns nothing (-1) makes a range that exists but cannot be reached
  // (kDenied). A file that may only be read takes the right to write away.
  // Errors: kInvalidArgument (wraps, empty, not page aligned, overlaps, beyond
  // the end of the file), kUnsupported (not a regular file of tmpfs or
  // hugetlbfs), kResourceExhausted (a limit), kIo.
  Status map(UniqueFd file, std::uint64_t file_offset, GuestAddr iova, std::uint64_t size,
             Rights rights);

  // Range subtraction: whatever of [iova, iova+size) is mapped is unmapped;
  // nothing mapped there is no error. size may reach or pass the top of the
  // address space. A VMM that would split ranges beyond the limit loses the
  // upper remainder as well.
  void unmap(GuestAddr iova, std::uint64_t size);

  // Everything at once; files go at once too, unless a page list remembers them.
  void unmap_all();

  // Unmaps files that had no range for Limits::keep_idle. Call now and then (a
  // second is often enough).
  void expire_files(Instant now);

  // The guest's Bus Master Enable bit. Off at the start.
  void set_dma_enabled(bool enabled);
  bool dma_enabled() const { return open_epoch_ != 0; }

  // Every page list that was made before is absent from now on, for good, whatever
  // becomes of the map and of DMA; a builder that had begun is refused. So objects of a
  // guest that started anew can be taken apart over many turns and reach nothing
  // meanwhile. Costs the same however many lists there are.
  void end_lists();

  // Changes whenever an address may have a new answer.
  std::uint64_t generation() const { return generation_; }

  // True once any file of this guest failed under an access (SIGBUS).
  bool failed() const;

  // For diagnosis: a range above 1 MiB came without a file.
  bool has_range_without_file() const { return large_without_file_ != 0; }

  struct Usage {
    std::uint32_t ranges = 0;
    std::uint32_t files = 0;
    std::uint64_t mapped_file_bytes = 0;
    std::uint64_t page_list_bytes = 0;
  };
  Usage usage() const;

  // What Usage::page_list_bytes may come to. It falls when files are unmapped; lists that
  // are there stay then, and new ones wait until enough of them are gone.
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

  // All or nothing: on failure `to` is unspecified but no byte outside the
  // guest's ranges was touched. A span may straddle adjacent ranges.
  Status copy_in(GuestAddr from, std::span<std::byte> to) const;
  Status copy_out(GuestAddr to, std::span<const std::byte> from);

  // Appends the extents of [addr, addr+length) to `out`; on anything but kOk
  // `out` is as it was. For memory that is named by DMA address on each use
  // (a DMA memory region).
  Reach resolve(GuestAddr addr, std::uint64_t length, Rights need, ExtentList& out) const;

 private:
  friend class PageList;  // guestmem/page_list.h: pages resolved at registration
  friend class PageListBuilder;
  friend class GuestMemoryPeer;  // testing/guest_memory_peer.h

  struct Range {
    std::uint64_t size;
    std::shared_ptr<MemoryFile> file;  // null: the VMM gave none; shared by the ranges of one file
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
  Status check_new_range(std::uint64_t file_offset, std::uint64_t iova, std::uint64_t size) const;
  Result<std::shared_ptr<MemoryFile>> file_for(int fd, std::uint64_t file_offset,
                                               std::uint64_t size);
  Status make_room_for(std::uint64_t new_bytes, std::uint32_t new_files);
  Status check_ending() const;
  std::uint64_t mapped_file_bytes() const;
  std::uint32_t free_file_number() const;
  // What of `range` lies in [first, last] is taken out.
  void cut(Ranges::iterator range, std::uint64_t first, std::uint64_t last);
  // Calls each(Piece) for the pieces of [addr, addr+length), in order, until one
  // cannot be reached.
  template <typename Each>
  Reach walk(std::uint64_t addr, std::uint64_t length, Rights need, Each each) const;
  Reach reach_whole(std::uint64_t addr, std::uint64_t length, Rights need) const;

  OwnerThread owner_;
  Limits limits_;
  Ranges ranges_;
  std::vector<File> files_;
  AddressSet gone_;  // unmapped a while ago
  std::optional<Instant> gone_since_;
  std::uint32_t large_without_file_ = 0;  // ranges
  MappingEnd mapping_end_;
  PageListAccount list_account_;
  std::uint64_t generation_ = 1;
  // Which lists may be used: those of this epoch. 0: none, DMA is off. One number, because
  // every access looks at it.
  std::uint64_t open_epoch_ = 0;
  std::uint64_t epoch_ = 1;  // of the lists made now
};

// Whether `have` allows all that `need` asks for.
constexpr bool allows(Rights have, Rights need) {
  return (static_cast<unsigned>(need) & ~static_cast<unsigned>(have)) == 0;
}

}  // namespace paravane
