// Memory regions and their keys.
//
// A key is (index << 8) | low byte; index 0 is never used, and indices are reused as late as
// possible. lkey and rkey of a region are equal. One function checks every access: the region
// exists and belongs to the protection domain, the key's low byte is current, the range lies
// inside, and the right is granted. The check is repeated for each slice of a transfer, so
// destroying a region stops the transfer.
//
// A fast region (IBTA 10.6.4: created without memory, registered and invalidated by work requests,
// used by the guest's kernel) changes its pages, its address, its rights and the low byte of its
// key each time; bits 31:8 stay the same and identify it.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/line.h"
#include "base/result.h"
#include "guestmem/extent.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list.h"
#include "verbs/index_pool.h"
#include "verbs/types.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

enum class PdNumber : std::uint32_t {};

// Why an access was refused; the requester and the responder name it in their
// own protocol.
enum class AccessVerdict : std::uint8_t {
  kOk,
  kBadKey,  // no such key, another protection domain, or a stale one
  kOutOfRange,
  kNoRight,
  kAbsent,  // its guest memory is unmapped at the moment
  kFailed,  // its guest memory failed (SIGBUS)
};

// What guest memory must allow for a region with these rights.
Rights needed_rights(AccessMask access);

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

  // A region without memory, for register_fast(): no key use is valid until then.
  // Errors: kResourceExhausted, kInvalidArgument (max_pages).
  Result<std::uint32_t> add_fast(PdNumber pd, std::uint32_t max_pages);

  // Whether the fast region that `key` names is `pd`'s and without memory at the
  // moment, and may have so many pages. The new low byte is free.
  bool may_register(PdNumber pd, std::uint32_t key, std::uint32_t pages) const;
  // REQUIRES: may_register(). False: the pages do not cover what it says.
  bool register_fast(const FastRegistration& registration, PageList pages);
  // The present key of a fast region of `pd` that has memory: may it be invalidated?
  bool may_invalidate(PdNumber pd, std::uint32_t key) const;
  // REQUIRES: may_invalidate().
  void invalidate(std::uint32_t key);

  // `key` is what add_*() returned, also of a fast region. Errors: kNotFound.
  Status remove(std::uint32_t key);

  // While closed no key is valid: no region gives access to memory, though the regions
  // still exist until they are removed.
  void set_closed(bool closed) { closed_ = closed; }

  // Appends the extents of [addr, addr+length) to `out`; on anything but kOk
  // `out` is as it was. `need` is kAccessLocalWrite, a kAccessRemote* bit, or 0
  // for a local read. length > 0.
  AccessVerdict resolve(PdNumber pd, std::uint32_t key, std::uint64_t addr, std::uint64_t length,
                        AccessMask need, ExtentList& out);

  // The same judgement without extents, and without asking whether the memory is
  // there: for a whole message before its first slice.
  AccessVerdict check(PdNumber pd, std::uint32_t key, std::uint64_t addr, std::uint64_t length,
                      AccessMask need);

  std::uint32_t count() const { return count_; }
  // The key of one of a protection domain's regions, as remove() wants it; nullopt: it
  // has none.
  std::optional<std::uint32_t> any_in(PdNumber pd) const;
  // Pages of our own memory that the region keeps, rounded up; 0: no such key.
  std::uint32_t pages_kept(std::uint32_t key) const;

  // Regions looked up, and pieces of guest memory found in them, ever.
  std::uint64_t touched() const { return touched_; }

 private:
  struct Region;
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
  bool closed_ = false;
  std::uint8_t next_low_byte_ = 0;  // varied, so that a stale key rarely fits its successor
};

}  // namespace paravane::verbs
