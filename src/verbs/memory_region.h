// Memory regions and their keys.
//
// A key is (index << 8) | low byte; index 0 is never used, and indices are
// reused as late as possible. lkey and rkey of a region are equal. Every access
// is judged here, in one function: the region exists, belongs to the protection
// domain, the key's low byte is current, the range lies inside, the right is
// given; and it is judged again for each slice of a transfer, so a region that
// goes away stops the transfer.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "guestmem/extent.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list.h"
#include "verbs/index_pool.h"
#include "verbs/types.h"

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

  // Errors: kNotFound.
  Status remove(std::uint32_t key);

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
  bool any_in(PdNumber pd) const;

 private:
  struct Region;
  Result<std::uint32_t> add(std::unique_ptr<Region> region);
  AccessVerdict judge(PdNumber pd, std::uint32_t key, std::uint64_t addr, std::uint64_t length,
                      AccessMask need, Region*& region);

  GuestMemory& memory_;
  IndexPool indices_;
  std::vector<std::unique_ptr<Region>> regions_;  // by key index
  std::unordered_map<std::uint32_t, std::uint32_t> count_by_pd_;
  std::uint32_t count_ = 0;
  std::uint8_t next_low_byte_ = 0;  // varied, so that a stale key rarely fits its successor
};

}  // namespace paravane::verbs
