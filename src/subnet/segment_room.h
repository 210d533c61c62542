// SegmentRoom: how many bytes of long MADs all ports of a subnet hold together, in each direction.
// Each port has bounds of its own (SegmentLimits); this is the bound of their sum.
//
// The subnet's thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace paravane::subnet {

// Of a transfer of segments. Indices.
enum SegmentDirection : std::uint8_t { kReceives, kSends };

class SegmentRoom {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of each direction

  explicit SegmentRoom(std::size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}
  SegmentRoom(const SegmentRoom&) = delete;
  SegmentRoom& operator=(const SegmentRoom&) = delete;

  bool has(SegmentDirection direction, std::size_t more) const {
    return used_[direction] + more <= most_bytes_;
  }
  void change(SegmentDirection direction, std::size_t before, std::size_t after) {
    used_[direction] += after - before;
  }
  std::size_t used(SegmentDirection direction) const { return used_[direction]; }

 private:
  const std::size_t most_bytes_;
  std::array<std::size_t, 2> used_{};
};

}  // namespace paravane::subnet
