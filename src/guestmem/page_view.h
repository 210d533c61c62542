// PageView accesses a page list at places that are close together, such as the entries of a ring.
// It remembers the piece of memory that it accessed last, so an access within that piece needs no
// search. The piece is used only while GuestMemory::generation() is unchanged, which means that
// every address still leads to the same memory with the same rights. Copies check
// afterwards whether that memory has failed; resolve() and extent() check before.
//
// Use one view for each part of a list that is accessed in turn, such as indices and entries: they
// are in different pages. A view must not outlive its list. Owner thread only.

#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "guestmem/extent.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list.h"

namespace paravane {

class PageView {
 public:
  explicit PageView(PageList& pages) : pages_(&pages) {}

  // As the functions of PageList with the same names. With `ahead` not 0, the same number of bytes
  // is fetched that many bytes further on, if it is in the same piece: they will be accessed soon.
  Reach copy_in(std::uint64_t offset, std::span<std::byte> to, std::uint64_t ahead = 0);
  Reach copy_out(std::uint64_t offset, std::span<const std::byte> from, std::uint64_t ahead = 0);
  Reach prefetch(std::uint64_t offset, std::uint64_t length, Rights need);
  Reach load_index(std::uint64_t offset, std::uint32_t& value);
  Reach store_index(std::uint64_t offset, std::uint32_t value);

  // REQUIRES: length > 0.
  Reach resolve(std::uint64_t offset, std::uint64_t length, Rights need, ExtentList& out);

  // The bytes [offset, offset+length) as one extent; nullopt: they are not in one piece, or cannot
  // be accessed. REQUIRES: length > 0.
  std::optional<Extent> extent(std::uint64_t offset, std::uint64_t length, Rights need);

 private:
  bool holds(std::uint64_t offset, std::uint64_t length) const;  // the remembered piece
  // The bytes if they are in the remembered piece, or, for search(), in one piece; null otherwise.
  std::byte* find(std::uint64_t offset, std::uint64_t length, Rights need);
  std::byte* search(std::uint64_t offset, std::uint64_t length, Rights need);
  Reach after_copy() const;

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
