#include "guestmem/page_view.h"

namespace paravane {

bool PageView::search(std::uint64_t offset, std::uint64_t length, Rights need) {
  const std::optional<PageList::Span> found = pages_->span_at(offset, length, need);
  if (!found) return false;
  generation_ = pages_->memory_->generation();
  first_ = static_cast<std::uint32_t>(found->first);
  size_ = static_cast<std::uint32_t>(found->piece.size);
  host_ = found->piece.host;
  file_ = found->piece.file;
  return true;
}

// After a successful search the bytes are at hand.

Reach PageView::copy_in_elsewhere(std::uint64_t offset, std::span<std::byte> to) {
  return search(offset, to.size(), Rights::kRead) ? copy_in(offset, to)
                                                  : pages_->copy_in(offset, to);
}

Reach PageView::copy_out_elsewhere(std::uint64_t offset, std::span<const std::byte> from) {
  return search(offset, from.size(), Rights::kWrite) ? copy_out(offset, from)
                                                     : pages_->copy_out(offset, from);
}

Reach PageView::prefetch_elsewhere(std::uint64_t offset, std::uint64_t length, Rights need) {
  return search(offset, length, need) ? prefetch(offset, length, need)
                                      : pages_->prefetch(offset, length, need);
}

Reach PageView::load_index_elsewhere(std::uint64_t offset, std::uint32_t& value) {
  const bool found = offset % sizeof value == 0 && search(offset, sizeof value, Rights::kRead);
  return found ? load_index(offset, value) : pages_->load_index(offset, value);
}

Reach PageView::store_index_elsewhere(std::uint64_t offset, std::uint32_t value) {
  const bool found = offset % sizeof value == 0 && search(offset, sizeof value, Rights::kWrite);
  return found ? store_index(offset, value) : pages_->store_index(offset, value);
}

Reach PageView::resolve(std::uint64_t offset, std::uint64_t length, Rights need, ExtentList& out) {
  const bool found = is_at_hand(offset, length, need) || search(offset, length, need);
  if (!found || file_->failed()) return pages_->resolve(offset, length, need, out);
  ExtentAccess::append(out, at(offset), length, file_);
  return Reach::kOk;
}

std::optional<PageView::Piece> PageView::piece(std::uint64_t offset, std::uint64_t length,
                                               Rights need) {
  const bool found = is_at_hand(offset, length, need) || search(offset, length, need);
  if (!found || file_->failed()) return std::nullopt;
  return Piece{.first = first_, .extent = ExtentAccess::make(host_, size_, file_)};
}

}  // namespace paravane
