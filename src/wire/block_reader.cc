#include "wire/block_reader.h"

#include <algorithm>

namespace paravane::wire {

std::optional<RawFrame> BlockReader::next() {
  if (rest_.empty()) return std::nullopt;
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  FrameHeader header;
  const bool has_header = rest_.size() >= sizeof header;
  if (has_header) std::memcpy(&header, rest_.data(), sizeof header);
  if (!has_header || header.kind.get() == static_cast<std::uint8_t>(FrameKind::kPadding)) {
    broken_ = !std::ranges::all_of(rest_, is_zero);
    rest_ = {};
    return std::nullopt;
  }
  const std::size_t length = header.length.get();
  if (length < sizeof header || length > rest_.size() || header.reserved.get() != 0) {
    broken_ = true;
    rest_ = {};
    return std::nullopt;
  }
  const RawFrame frame{.kind = static_cast<FrameKind>(header.kind.get()),
                       .bytes = rest_.first(length)};
  rest_ = rest_.subspan(length);
  return frame;
}

}  // namespace paravane::wire
