// BlockWriter: composes the head and block of one record.
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
  // By frames.
  std::size_t used() const { return used_ - sizeof(RecordHeader); }
  // What a frame may have at most, its header included.
  std::size_t room() const { return kMaxBytes - used_; }

  // Sets the frame's length and kind. REQUIRES: it fits.
  template <typename Frame>
  void add(Frame frame) {
    add(frame, 0);
  }
  // With `payload_bytes` inside the frame, which the caller fills at once.
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
  // Takes the last frame back: its payload could not be had.
  void take_back() { used_ = last_; }

  // Ends the block. The record is good until the next clear().
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
