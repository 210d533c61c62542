// BlockReader splits the block of a record (record.h) into frames. The block comes from another
// host and is untrusted. BlockReader checks every length. The code that uses a field checks the
// field's value.
//
// Owner thread only. The block must stay valid while its frames are in use.

#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "wire/frames.h"

namespace paravane::wire {

// One frame as it lies in the block.
struct RawFrame {
  FrameKind kind{};
  std::span<const std::byte> bytes;  // all of it

  // The fixed part of the frame; payload() is the rest. nullopt: the frame is too short.
  template <typename Frame>
  std::optional<Frame> as() const {
    static_assert(alignof(Frame) == 1);
    if (bytes.size() < sizeof(Frame)) return std::nullopt;
    Frame frame;
    std::memcpy(&frame, bytes.data(), sizeof frame);
    return frame;
  }
  template <typename Frame>
  std::span<const std::byte> payload() const {
    return bytes.subspan(sizeof(Frame));
  }
};

class BlockReader {
 public:
  explicit BlockReader(std::span<const std::byte> block) : rest_(block) {}

  // nullopt: the end of the block, or an invalid frame; broken() tells which.
  std::optional<RawFrame> next();
  bool broken() const { return broken_; }

 private:
  std::span<const std::byte> rest_;
  bool broken_ = false;
};

}  // namespace paravane::wire
