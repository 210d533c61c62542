// PageView accesses a page list at places that are close together, such as the entries of a ring.
// It remembers the piece of memory that it accessed last, so an access within that piece needs no
// search. The piece is used only while GuestMemory::generation() is unchanged, which means that
// every address still leads to the same memory with the same rights. Copies check
// afterwards whether that memory has failed; resolve() and extent() check before.
//
// Use one view for each part of a list that is accessed in turn, such as indices and entries: they
// are in different pages. A view must not outlive its list. Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "guestmem/extent.h"
#include "guestmem/extent_access.h"
#include "guestmem/guest_memory.h"
#include "guestmem/memory_file.h"
#include "guestmem/page_list.h"
#include "guestmem/raw_copy.h"

namespace paravane {

class PageView {
 public:
  explicit PageView(PageList& pages) : pages_(&pages) {}

  // As the functions of PageList with the same names. With `ahead` not 0, the same number of bytes
  // is fetched that many bytes further on, if it is in the same piece: they will be accessed soon.
  // They are inlined, and a copy whose size is known at compile time is a row of loads and stores.
  template <std::size_t N>
  Reach copy_in(std::uint64_t offset, std::span<std::byte, N> to, std::uint64_t ahead = 0) {
    if (!is_at_hand(offset, to.size(), Rights::kRead)) [[unlikely]]
      return copy_in_elsewhere(offset, to);
    if (ahead != 0 && holds(offset + ahead, to.size())) {
      raw_copy::prefetch_lines(at(offset + ahead), to.size(), false);
    }
    raw_copy::copy_entry(to.data(), at(offset), to.size());
    return after_copy();
  }
  template <std::size_t N>
  Reach copy_out(std::uint64_t offset, std::span<const std::byte, N> from,
                 std::uint64_t ahead = 0) {
    if (!is_at_hand(offset, from.size(), Rights::kWrite)) [[unlikely]]
      return copy_out_elsewhere(offset, from);
    if (ahead != 0 && holds(offset + ahead, from.size())) {
      raw_copy::prefetch_lines(at(offset + ahead), from.size(), true);
    }
    // In words as well: what was just put together in words is not in one piece yet.
    raw_copy::copy_entry(at(offset), from.data(), from.size());
    return after_copy();
  }
  Reach copy_in(std::uint64_t offset, std::span<std::byte> to, std::uint64_t ahead = 0) {
    return copy_in<std::dynamic_extent>(offset, to, ahead);
  }
  Reach copy_out(std::uint64_t offset, std::span<const std::byte> from, std::uint64_t ahead = 0) {
    return copy_out<std::dynamic_extent>(offset, from, ahead);
  }
  Reach prefetch(std::uint64_t offset, std::uint64_t length, Rights need) {
    if (!is_at_hand(offset, length, need)) [[unlikely]]
      return prefetch_elsewhere(offset, length, need);
    raw_copy::prefetch_lines(at(offset), length, need == Rights::kWrite);
    return Reach::kOk;
  }
  Reach load_index(std::uint64_t offset, std::uint32_t& value) {
    if (!is_at_hand(offset, sizeof value, Rights::kRead) || offset % sizeof value != 0) [[unlikely]]
      return load_index_elsewhere(offset, value);
    const std::uint32_t loaded = raw_copy::load_index(at(offset));
    if (file_->failed()) [[unlikely]]
      return Reach::kFailed;
    value = loaded;
    return Reach::kOk;
  }
  Reach store_index(std::uint64_t offset, std::uint32_t value) {
    if (!is_at_hand(offset, sizeof value, Rights::kWrite) || offset % sizeof value != 0)
        [[unlikely]]
      return store_index_elsewhere(offset, value);
    raw_copy::store_index(at(offset), value);
    return after_copy();
  }

  // REQUIRES: length > 0.
  Reach resolve(std::uint64_t offset, std::uint64_t length, Rights need, ExtentList& out);

  // The bytes [offset, offset+length) as one extent; nullopt: they are not in one piece, or cannot
  // be accessed. REQUIRES: length > 0.
  std::optional<Extent> extent(std::uint64_t offset, std::uint64_t length, Rights need) {
    if (!is_at_hand(offset, length, need) && !search(offset, length, need)) return std::nullopt;
    if (file_->failed()) [[unlikely]]
      return std::nullopt;
    return ExtentAccess::make(at(offset), length, file_);
  }

  // The whole piece that the bytes [offset, offset+length) are in, and the offset in the list at
  // which it begins; nullopt: as for extent(). REQUIRES: length > 0.
  struct Piece {
    std::uint64_t first;
    Extent extent;
  };
  std::optional<Piece> piece(std::uint64_t offset, std::uint64_t length, Rights need);

 private:
  // Whether the bytes are in the remembered piece.
  bool holds(std::uint64_t offset, std::uint64_t length) const {
    const std::uint64_t skipped = offset - first_;
    return skipped <= size_ && length <= size_ - skipped;
  }
  // Whether the bytes are in the remembered piece, and may be accessed so. Whether the memory has
  // failed is checked after the access.
  bool is_at_hand(std::uint64_t offset, std::uint64_t length, Rights need) const {
    return generation_ != 0 && generation_ == pages_->memory_->generation() &&
           holds(offset, length) && allows(pages_->rights_, need);
  }
  // Of a byte in the remembered piece.
  std::byte* at(std::uint64_t offset) const { return host_ + (offset - first_); }
  Reach after_copy() const { return file_->failed() ? Reach::kFailed : Reach::kOk; }

  // Remembers the piece that the bytes are in. False: they are not in one piece, or cannot be
  // accessed.
  bool search(std::uint64_t offset, std::uint64_t length, Rights need);
  // The same accesses after a search.
  Reach copy_in_elsewhere(std::uint64_t offset, std::span<std::byte> to);
  Reach copy_out_elsewhere(std::uint64_t offset, std::span<const std::byte> from);
  Reach prefetch_elsewhere(std::uint64_t offset, std::uint64_t length, Rights need);
  Reach load_index_elsewhere(std::uint64_t offset, std::uint32_t& value);
  Reach store_index_elsewhere(std::uint64_t offset, std::uint32_t value);

  PageList* pages_;
  // The remembered piece. An access within it reads nothing of the list
  // but where the map is and what rights there are.
  std::uint64_t generation_ = 0;  // of the map when the piece was found; 0: there is no piece
  std::byte* host_ = nullptr;
  const MemoryFile* file_ = nullptr;
  std::uint32_t first_ = 0;  // offset of the piece in the list, which has 1 GiB at most
  std::uint32_t size_ = 0;
};

}  // namespace paravane
