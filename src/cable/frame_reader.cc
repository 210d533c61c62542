#include "cable/frame_reader.h"

#include <fmt/core.h>

#include <cstring>

namespace paravane::cable {
namespace {

// Whether a frame of this kind may have so many bytes.
bool has_size(FrameKind kind, std::size_t bytes) {
  switch (kind) {
    case FrameKind::kPacket: return bytes > 0 && bytes <= kMostFrameBytes;
    case FrameKind::kHello: return bytes == sizeof(Hello);
    case FrameKind::kBeat: return bytes == 0;
    case FrameKind::kLink: return bytes == sizeof(LinkWord);
  }
  return false;
}

}  // namespace

std::span<std::byte> FrameReader::room() {
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return std::span(bytes_).subspan(end_);
}

std::optional<FrameReader::Frame> FrameReader::next() {
  if (!problem_.empty() || end_ - begin_ < sizeof(FrameHeader)) return std::nullopt;
  FrameHeader header;
  std::memcpy(&header, bytes_.data() + begin_, sizeof header);
  const auto kind = static_cast<FrameKind>(header.kind);
  const std::size_t length = header.length.get();
  if (!has_size(kind, length)) {
    problem_ = fmt::format("a frame of kind {} has {} bytes", header.kind, length);
    return std::nullopt;
  }
  if (end_ - begin_ < sizeof header + length) return std::nullopt;
  const std::span<const std::byte> body(bytes_.data() + begin_ + sizeof header, length);
  begin_ += sizeof header + length;
  return Frame{.kind = kind, .cables = header.cables, .body = body};
}

}  // namespace paravane::cable
