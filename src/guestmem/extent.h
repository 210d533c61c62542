// Extent and ExtentList: guest memory that has been checked for this moment.
//
// An Extent can only be made by guestmem/ and only be read or written by the
// copy functions of guestmem/: nobody else can look inside. It is good until
// the owner thread next returns to its loop (a DMA unmap, a destroyed region or
// a closed device may come then), so it is never kept: resolve again for each
// slice of work.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paravane {

class MemoryFile;

class Extent {
 public:
  std::uint64_t size() const { return size_; }

 private:
  friend class ExtentAccess;  // guestmem/ only
  Extent(std::byte* host, std::uint64_t size, const MemoryFile* file)
      : host_(host), size_(size), file_(file) {}
  std::byte* host_;
  std::uint64_t size_;
  const MemoryFile* file_;  // to see afterwards whether it failed under us
};

class ExtentList {
 public:
  void clear() {
    extents_.clear();
    total_ = 0;
  }
  std::uint64_t total_bytes() const { return total_; }
  const std::vector<Extent>& extents() const { return extents_; }

 private:
  friend class ExtentAccess;
  std::vector<Extent> extents_;
  std::uint64_t total_ = 0;
};

}  // namespace paravane
