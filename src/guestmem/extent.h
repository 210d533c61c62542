// Extent and ExtentList: ranges of guest memory that have been validated for immediate use.
//
// Only the code in guestmem/ can create an Extent or access the memory behind it. An Extent is
// valid until the owner thread returns to its event loop. After that, the loop can process a DMA
// unmap, or destroy a memory region or the device. Never store an Extent; resolve the guest's
// address again for each slice of work.
//
// Owner thread only.

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace paravane {

class MemoryFile;

class Extent {
 public:
  std::uint64_t size() const { return size_; }
  // A part of it. REQUIRES: it has these bytes.
  Extent part(std::uint64_t offset, std::uint64_t size) const {
    assert(offset <= size_ && size <= size_ - offset);
    return {host_ + offset, size, file_};
  }

 private:
  friend class ExtentAccess;  // guestmem/ only
  Extent(std::byte* host, std::uint64_t size, const MemoryFile* file)
      : host_(host), size_(size), file_(file) {}
  std::byte* host_;
  std::uint64_t size_;
  const MemoryFile* file_;  // to check afterwards whether it has failed
};

class ExtentList {
 public:
  void clear() {
    extents_.clear();
    total_ = 0;
  }
  // Appends a part of an extent. REQUIRES: it has these bytes.
  void append(const Extent& extent, std::uint64_t offset, std::uint64_t size) {
    extents_.push_back(extent.part(offset, size));
    total_ += size;
  }
  std::uint64_t total_bytes() const { return total_; }
  const std::vector<Extent>& extents() const { return extents_; }

 private:
  friend class ExtentAccess;
  std::vector<Extent> extents_;
  std::uint64_t total_ = 0;
};

}  // namespace paravane
