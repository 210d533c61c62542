// BlockWriter composes the head and the block of a record (record.h) from frames.
//
// Owner thread only.

#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <span>

#include "wire/frames.h"
#include "wire/record.h"

namespace paravane::wire {

class BlockWriter {
 public:
  void clear() {
    used_ = sizeof(RecordHeader);
    last_ = 0;
  }
  bool empty() const { return used() == 0; }
  // The bytes used by frames.
  std::size_t used() const { return used_ - sizeof(RecordHeader); }
  // The maximum size of the next frame, including its header.
  std::size_t room() const { return kMaxBytes - used_; }

  // Sets the frame's length and kind. REQUIRES: it fits.
  template <typename Frame>
  void add(Frame frame) {
    add(frame, 0);
  }
  // Adds a frame with `payload_bytes` inside it, which the caller must fill before the next call.
  template <typename Frame>
  std::span<std::byte> add(Frame frame, std::size_t payload_bytes) {
    static_assert(alignof(Frame) == 1);
    const std::size_t length = sizeof(Frame) + payload_bytes;
    assert(length <= room());
    frame.header.length.set(static_cast<std::uint16_t>(length));
    frame.header.kind.set(static_cast<std::uint8_t>(Frame::kKind));
    last_ = used_;
    std::memcpy(bytes_.data() + used_, &frame, sizeof frame);
    used_ += length;
    return std::span(bytes_).subspan(used_ - payload_bytes, payload_bytes);
  }
  // Removes the last frame, because its payload could not be read.
  void take_back() { used_ = last_; }

  // Completes the block and returns it with its head. It is valid until the next clear().
  std::span<std::byte> finish(std::size_t direct_bytes) {
    if (used_ < kHeadBytes) {
      std::memset(bytes_.data() + used_, 0, kHeadBytes - used_);
      used_ = kHeadBytes;
    }
    RecordHeader header;
    header.block_bytes.set(static_cast<std::uint32_t>(used_ - sizeof header));
    header.direct_bytes.set(static_cast<std::uint32_t>(direct_bytes));
    std::memcpy(bytes_.data(), &header, sizeof header);
    return std::span(bytes_).first(used_);
  }

 private:
  static constexpr std::size_t kMaxBytes = sizeof(RecordHeader) + kMaxBlockBytes;

  std::array<std::byte, kMaxBytes> bytes_;
  std::size_t used_ = sizeof(RecordHeader);
  std::size_t last_ = 0;  // where the last frame begins
};

}  // namespace paravane::wire
