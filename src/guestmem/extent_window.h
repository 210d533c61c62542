// ExtentWindow: a piece of guest memory, and the addresses by which its owner names the bytes in
// it. An access within the piece needs no search.
//
// It is valid for as long as an Extent is: until the owner thread returns to its event loop. Never
// store one beyond that. Owner thread only.

#pragma once

#include <cstdint>
#include <optional>

#include "guestmem/extent.h"
#include "guestmem/extent_access.h"
#include "guestmem/memory_file.h"

namespace paravane {

class ExtentWindow {
 public:
  ExtentWindow() = default;  // without any byte
  // `first`: the address of the first byte of `piece`.
  ExtentWindow(std::uint64_t first, const Extent& piece)
      : first_(first),
        size_(piece.size()),
        host_(ExtentAccess::host(piece)),
        file_(ExtentAccess::file(piece)) {}

  // The bytes [addr, addr+length); nullopt: they are not all in the piece, or its memory has
  // failed. REQUIRES: length > 0.
  std::optional<Extent> find(std::uint64_t addr, std::uint64_t length) const {
    const std::uint64_t skipped = addr - first_;
    if (skipped >= size_ || length > size_ - skipped || file_->failed()) return std::nullopt;
    return ExtentAccess::make(host_ + skipped, length, file_);
  }

 private:
  std::uint64_t first_ = 0;
  std::uint64_t size_ = 0;
  std::byte* host_ = nullptr;
  const MemoryFile* file_ = nullptr;
};

}  // namespace paravane
