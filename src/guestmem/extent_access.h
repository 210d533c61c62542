// ExtentAccess: creates extents (validated ranges of guest memory) and accesses the host addresses
// in them. Only the code in guestmem/ and a test helper (testing/guest_memory_peer.h) may use it.

#pragma once

#include <cstddef>
#include <cstdint>

#include "guestmem/extent.h"

namespace paravane {

class ExtentAccess {
 public:
  static std::byte* host(const Extent& extent) { return extent.host_; }
  static const MemoryFile* file(const Extent& extent) { return extent.file_; }

  static Extent make(std::byte* host, std::uint64_t size, const MemoryFile* file) {
    return {host, size, file};
  }

  static void append(ExtentList& list, std::byte* host, std::uint64_t size,
                     const MemoryFile* file) {
    list.extents_.push_back(Extent(host, size, file));
    list.total_ += size;
  }

  // A position in a list. rewind() removes everything that was appended after it, if the rest of a
  // range cannot be accessed.
  struct Mark {
    std::size_t extents;
    std::uint64_t total;
  };
  static Mark mark(const ExtentList& list) { return {list.extents_.size(), list.total_}; }
  static void rewind(ExtentList& list, const Mark& mark) {
    list.extents_.erase(list.extents_.begin() + static_cast<std::ptrdiff_t>(mark.extents),
                        list.extents_.end());
    list.total_ = mark.total;
  }
};

}  // namespace paravane
