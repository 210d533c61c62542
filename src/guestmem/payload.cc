#include "guestmem/payload.h"

#include <algorithm>
#include <cassert>

#include "guestmem/extent_access.h"
#include "guestmem/memory_file.h"
#include "guestmem/raw_copy.h"

namespace paravane {
namespace {

// The part of a destination that is written last and in order: at least its
// last cache line.
constexpr std::uint64_t kOrderedBytes = 64;

// Goes through a list as if it were one stretch of bytes.
class ListCursor {
 public:
  explicit ListCursor(const ExtentList& list)
      : next_(list.extents().data()), end_(next_ + list.extents().size()) {
    step();
  }

  std::byte* at() const { return at_; }
  // Bytes that can be copied without a look at the list; 0 at its end.
  std::uint64_t left() const { return left_; }

  void advance(std::uint64_t size) {
    at_ += size;
    left_ -= size;
    if (left_ == 0) step();
  }

 private:
  void step() {
    if (next_ == end_) return;
    at_ = ExtentAccess::host(*next_);
    left_ = next_->size();
    ++next_;
  }

  const Extent* next_;
  const Extent* end_;
  std::byte* at_ = nullptr;
  std::uint64_t left_ = 0;
};

// The same for a span of ours.
template <typename Byte>
class SpanCursor {
 public:
  explicit SpanCursor(std::span<Byte> span) : span_(span) {}
  Byte* at() const { return span_.data(); }
  std::uint64_t left() const { return span_.size(); }
  void advance(std::uint64_t size) { span_ = span_.subspan(size); }

 private:
  std::span<Byte> span_;
};

// Copies `size` bytes in the largest pieces that both sides have. `copy` is one
// of raw_copy's.
template <typename From, typename To, typename Copy>
void copy_pieces(From& from, To& to, std::uint64_t size, Copy copy) {
  while (size > 0) {
    const std::uint64_t piece = std::min({size, from.left(), to.left()});
    if (piece == 0) return;  // the lists were not as long as they said
    copy(to.at(), from.at(), piece);
    from.advance(piece);
    to.advance(piece);
    size -= piece;
  }
}

// Body first, then the ordered end.
template <typename From, typename To>
void copy_to_guest(From from, To to, std::uint64_t size) {
  const std::uint64_t ordered = std::min(size, kOrderedBytes);
  copy_pieces(from, to, size - ordered,
              [](std::byte* target, const std::byte* source, std::uint64_t piece) {
                raw_copy::copy_bytes(target, source, piece);
              });
  copy_pieces(from, to, ordered,
              [](std::byte* target, const std::byte* source, std::uint64_t piece) {
                raw_copy::copy_ascending(target, source, piece);
              });
}

// The same for one piece on either side.
void copy_piece(const std::byte* from, std::byte* to, std::uint64_t size) {
  const std::uint64_t ordered = std::min(size, kOrderedBytes);
  const std::uint64_t body = size - ordered;
  if (body > 0) raw_copy::copy_bytes(to, from, body);
  const bool in_words =
      (reinterpret_cast<std::uintptr_t>(to + body) | ordered) % sizeof(std::uint64_t) == 0;
  if (in_words && ordered == kOrderedBytes) [[likely]] {
    raw_copy::copy_words_ascending(to + body, from + body, kOrderedBytes);
  } else if (in_words) {
    raw_copy::copy_words_ascending(to + body, from + body, ordered);
  } else {
    raw_copy::copy_ascending(to + body, from + body, ordered);
  }
}

bool intact(const ExtentList& list) {
  return std::ranges::none_of(
      list.extents(), [](const Extent& extent) { return ExtentAccess::file(extent)->failed(); });
}

}  // namespace

bool copy_payload(const ExtentList& from, const ExtentList& to) {
  assert(from.total_bytes() == to.total_bytes());
  const std::uint64_t size = std::min(from.total_bytes(), to.total_bytes());
  copy_to_guest(ListCursor(from), ListCursor(to), size);
  return intact(from) && intact(to);
}

bool copy_payload(const Extent& from, const Extent& to) {
  assert(from.size() == to.size());
  copy_piece(ExtentAccess::host(from), ExtentAccess::host(to), std::min(from.size(), to.size()));
  return !ExtentAccess::file(from)->failed() && !ExtentAccess::file(to)->failed();
}

bool gather_payload(const ExtentList& from, std::span<std::byte> to) {
  assert(from.total_bytes() == to.size());
  ListCursor source(from);
  SpanCursor target(to);
  copy_pieces(source, target, std::min<std::uint64_t>(from.total_bytes(), to.size()),
              [](std::byte* at, const std::byte* what, std::uint64_t piece) {
                raw_copy::copy_bytes(at, what, piece);
              });
  return intact(from);
}

bool scatter_payload(std::span<const std::byte> from, const ExtentList& to) {
  assert(from.size() == to.total_bytes());
  const std::uint64_t size = std::min<std::uint64_t>(from.size(), to.total_bytes());
  copy_to_guest(SpanCursor(from), ListCursor(to), size);
  return intact(to);
}

bool scatter_payload(std::span<const std::byte> from, const Extent& to) {
  assert(from.size() == to.size());
  copy_piece(from.data(), ExtentAccess::host(to), std::min<std::uint64_t>(from.size(), to.size()));
  return !ExtentAccess::file(to)->failed();
}

}  // namespace paravane
