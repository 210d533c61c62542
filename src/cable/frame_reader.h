// FrameReader: cuts the bytes that arrive over a cable into frames. The other end may be hostile:
// what is longer than a frame can be, or of no kind, is a problem that ends the cable's stream.
//
// Holds at most kRoom bytes. The subnet's thread only.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cable/frame.h"

namespace paravane::cable {

class FrameReader {
 public:
  static constexpr std::size_t kRoom = std::size_t{64} * 1024;

  struct Frame {
    FrameKind kind = FrameKind::kPacket;
    std::uint8_t cables = 0;
    std::span<const std::byte> body{};  // valid until the next call
  };

  FrameReader() : bytes_(kRoom) {}

  // Where the next bytes go; never empty after next() has returned nothing. `arrived`: how many
  // came.
  std::span<std::byte> room();
  void arrived(std::size_t bytes) { end_ += bytes; }

  // The next frame that is whole; nullopt: there are too few bytes, or there is a problem.
  std::optional<Frame> next();
  // Why the bytes are not frames; empty: they are.
  const std::string& problem() const { return problem_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;  // of what has not been returned
  std::size_t end_ = 0;
  std::string problem_;
};

}  // namespace paravane::cable
