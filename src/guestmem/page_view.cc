#include "guestmem/page_view.h"

#include "guestmem/extent_access.h"
#include "guestmem/memory_file.h"
#include "guestmem/raw_copy.h"

namespace paravane {

inline bool PageView::holds(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t skipped = offset - first_;
  return skipped <= size_ && length <= size_ - skipped;
}

// Whether the memory has failed is checked after the access.
inline std::byte* PageView::find(std::uint64_t offset, std::uint64_t length, Rights need) {
  const bool remembered = generation_ != 0 && generation_ == pages_->memory_->generation() &&
                          holds(offset, length) && allows(pages_->rights_, need);
  return remembered ? host_ + (offset - first_) : search(offset, length, need);
}

std::byte* PageView::search(std::uint64_t offset, std::uint64_t length, Rights need) {
  const std::optional<PageList::Span> found = pages_->span_at(offset, length, need);
  if (!found) return nullptr;
  generation_ = pages_->memory_->generation();
  first_ = static_cast<std::uint32_t>(found->first);
  size_ = static_cast<std::uint32_t>(found->piece.size);
  host_ = found->piece.host;
  file_ = found->piece.file;
  return host_ + (offset - first_);
}

inline Reach PageView::after_copy() const {
  return file_->failed() ? Reach::kFailed : Reach::kOk;
}

Reach PageView::copy_in(std::uint64_t offset, std::span<std::byte> to, std::uint64_t ahead) {
  const std::byte* at = find(offset, to.size(), Rights::kRead);
  if (at == nullptr) return pages_->copy_in(offset, to);
  if (ahead != 0 && holds(offset + ahead, to.size())) {
    raw_copy::prefetch_lines(host_ + (offset + ahead - first_), to.size(), false);
  }
  raw_copy::copy_entry(to.data(), at, to.size());
  return after_copy();
}

Reach PageView::copy_out(std::uint64_t offset, std::span<const std::byte> from,
                         std::uint64_t ahead) {
  std::byte* at = find(offset, from.size(), Rights::kWrite);
  if (at == nullptr) return pages_->copy_out(offset, from);
  if (ahead != 0 && holds(offset + ahead, from.size())) {
    raw_copy::prefetch_lines(host_ + (offset + ahead - first_), from.size(), true);
  }
  raw_copy::copy_bytes(at, from.data(), from.size());
  return after_copy();
}

Reach PageView::prefetch(std::uint64_t offset, std::uint64_t length, Rights need) {
  const std::byte* at = find(offset, length, need);
  if (at == nullptr) return pages_->prefetch(offset, length, need);
  raw_copy::prefetch_lines(at, length, need == Rights::kWrite);
  return Reach::kOk;
}

Reach PageView::load_index(std::uint64_t offset, std::uint32_t& value) {
  const std::byte* at = find(offset, sizeof value, Rights::kRead);
  if (at == nullptr || offset % sizeof value != 0) return pages_->load_index(offset, value);
  const std::uint32_t loaded = raw_copy::load_index(at);
  if (file_->failed()) return Reach::kFailed;
  value = loaded;
  return Reach::kOk;
}

Reach PageView::store_index(std::uint64_t offset, std::uint32_t value) {
  std::byte* at = find(offset, sizeof value, Rights::kWrite);
  if (at == nullptr || offset % sizeof value != 0) return pages_->store_index(offset, value);
  raw_copy::store_index(at, value);
  return after_copy();
}

Reach PageView::resolve(std::uint64_t offset, std::uint64_t length, Rights need, ExtentList& out) {
  std::byte* at = find(offset, length, need);
  if (at == nullptr || file_->failed()) return pages_->resolve(offset, length, need, out);
  ExtentAccess::append(out, at, length, file_);
  return Reach::kOk;
}

std::optional<Extent> PageView::extent(std::uint64_t offset, std::uint64_t length, Rights need) {
  std::byte* at = find(offset, length, need);
  if (at == nullptr || file_->failed()) return std::nullopt;
  return ExtentAccess::make(at, length, file_);
}

}  // namespace paravane
