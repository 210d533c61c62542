// MemoryRegionTable holds the memory regions of an adapter and checks every access to them.
//
// A key is (index << 8) | low byte. Index 0 is never used, and an index is reused as late as
// possible. The lkey and the rkey of a region are equal. An access is allowed if the region exists
// and belongs to the protection domain, the low byte of the key is current, the range lies inside
// the region, and the region grants the right. The check is repeated for each slice of a transfer,
// so destroying a region stops the transfer.
//
// A fast region (IBTA 10.6.4) is created without memory, and work requests register and invalidate
// it. The guest's kernel uses such regions. Each registration changes the pages, the address, the
// rights, and the low byte of the key. Bits 31:8 of the key stay the same and identify the region.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/line.h"
#include "base/result.h"
#include "guestmem/extent.h"
#include "guestmem/extent_window.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list.h"
#include "guestmem/page_view.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/index_pool.h"
#include "verbs/types.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

enum class PdNumber : std::uint32_t {};

// Why an access was refused. The requester and the responder convert it to their own errors.
enum class AccessVerdict : std::uint8_t {
  kOk,
  kBadKey,  // no such key, another protection domain, or a stale one
  kOutOfRange,
  kNoRight,
  kAbsent,  // its guest memory is unmapped at the moment
  kFailed,  // its guest memory failed (SIGBUS)
};

// The rights to guest memory that a region with these rights needs.
Rights needed_rights(AccessMask access);

// What an owner of regions judges when they are loaded.
struct RegionKind {
  PdNumber pd{};
  bool is_all_memory = false;    // a DMA region
  std::uint32_t fast_pages = 0;  // that a fast region can have; 0: not a fast region
};
using RegionRule = std::function<bool(const RegionKind&)>;

class MemoryRegionTable {
 public:
  MemoryRegionTable(GuestMemory& memory, std::uint32_t max_regions);
  ~MemoryRegionTable();
  MemoryRegionTable(const MemoryRegionTable&) = delete;
  MemoryRegionTable& operator=(const MemoryRegionTable&) = delete;

  // User region: bytes [start, start+length) of the guest process, in `pages`
  // (the first page holds `start`). Returns the key.
  // Errors: kResourceExhausted, kInvalidArgument (pages do not cover it).
  Result<std::uint32_t> add_user(PdNumber pd, std::uint64_t start, std::uint64_t length,
                                 AccessMask access, PageList pages);

  // All of guest memory, by DMA address; never grants remote access.
  // Errors: kResourceExhausted, kInvalidArgument (a remote right was asked for).
  Result<std::uint32_t> add_dma(PdNumber pd, AccessMask access);

  // Creates a fast region without memory. Its key is not valid until register_fast(). Errors:
  // kResourceExhausted, kInvalidArgument (max_pages).
  Result<std::uint32_t> add_fast(PdNumber pd, std::uint32_t max_pages);

  // Whether `key` names a fast region of `pd` that has no memory at the moment and may have `pages`
  // pages. The low byte of `key` may be any new value.
  bool may_register(PdNumber pd, std::uint32_t key, std::uint32_t pages) const;
  // REQUIRES: may_register(). False: the pages do not cover the range of the registration.
  bool register_fast(const FastRegistration& registration, PageList pages);
  // Whether `key` is the current key of a fast region of `pd` that has memory, so that it may be
  // invalidated.
  bool may_invalidate(PdNumber pd, std::uint32_t key) const;
  // REQUIRES: may_invalidate().
  void invalidate(std::uint32_t key);

  // `key` is what add_*() returned, also of a fast region. Errors: kNotFound.
  Status remove(std::uint32_t key);

  // While the table is closed, no key is valid and no region gives access to memory. The regions
  // still exist until they are removed.
  void set_closed(bool closed) {
    if (closed) memory_.loans().recall_all();
    closed_ = closed;
  }

  // Appends the extents of [addr, addr+length) to `out`; on anything but kOk
  // `out` is as it was. `need` is kAccessLocalWrite, a kAccessRemote* bit, or 0
  // for a local read. length > 0.
  AccessVerdict resolve(PdNumber pd, std::uint32_t key, std::uint64_t addr, std::uint64_t length,
                        AccessMask need, ExtentList& out);

  // The same for memory in one piece; nullopt: not kOk, or in several pieces.
  std::optional<Extent> find_extent(PdNumber pd, std::uint32_t key, std::uint64_t addr,
                                    std::uint64_t length, AccessMask need);

  // The piece of the region that find_extent() would find these bytes in, by the addresses of the
  // region; nullopt: as there. It is good for other accesses with the same key and right until a
  // region or the DMA map changes.
  std::optional<ExtentWindow> find_window(PdNumber pd, std::uint32_t key, std::uint64_t addr,
                                          std::uint64_t length, AccessMask need);

  // The same check without extents, and without checking whether the memory is mapped. It is for a
  // whole message, before its first slice.
  AccessVerdict check(PdNumber pd, std::uint32_t key, std::uint64_t addr, std::uint64_t length,
                      AccessMask need);

  std::uint32_t count() const { return count_; }
  // The key, for remove(), of any region of a protection domain; nullopt: the protection domain has
  // no regions.
  std::optional<std::uint32_t> any_in(PdNumber pd) const;
  // The pages of the daemon's own memory that the region uses, rounded up; 0: there is no such key.
  std::uint32_t pages_kept(std::uint32_t key) const;

  // From now on, resolve() appends the keys that it has granted to `keys`; nullptr: no longer.
  void note_keys(std::vector<std::uint32_t>* keys) { noted_keys_ = keys; }

  // All regions, with their keys and pages (docs/state.md). Of load(): regions are refused that
  // `may_be` does not allow. REQUIRES of load(): the table is empty.
  void save(state::Writer& out) const;
  void load(state::Reader& in, const RegionRule& may_be);

  // The total number of lookups of regions and of pieces of guest memory found in them.
  std::uint64_t touched() const { return touched_; }

 private:
  struct Region;
  static void save(const Region& region, state::Writer& out);
  std::unique_ptr<Region> load_region(state::Reader& in) const;
  Result<std::uint32_t> add(std::unique_ptr<Region> region);
  Line<Region>& line_of(PdNumber pd);
  Region* find(std::uint32_t key) const;
  AccessVerdict judge(PdNumber pd, std::uint32_t key, std::uint64_t addr, std::uint64_t length,
                      AccessMask need, Region*& region);

  GuestMemory& memory_;
  IndexPool indices_;
  std::vector<std::unique_ptr<Region>> regions_;  // by key index
  std::deque<Line<Region>> by_pd_;                // by number
  std::uint32_t count_ = 0;
  std::uint64_t touched_ = 0;
  std::vector<std::uint32_t>* noted_keys_ = nullptr;
  bool closed_ = false;
  std::uint8_t next_low_byte_ = 0;  // varied, so that a stale key rarely fits its successor
};

}  // namespace paravane::verbs
