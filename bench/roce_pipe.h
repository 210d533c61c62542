// RocePipe: two doors that are joined by memory. A frame is copied once when it is sent, as the
// kernel does at the least. If the pipe cuts, superframes wait until carry() has made packets of
// them, so that what the kernel does counts for neither side.
//
// One thread.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "testing/roce_frames.h"
#include "transport/roce/frame_door.h"

namespace paravane::bench {

class RocePipe {
 public:
  explicit RocePipe(bool cuts) : cuts_(cuts) {
    for (unsigned side = 0; side < 2; ++side) doors_.at(side).peer = &doors_.at(1 - side);
  }

  transport_roce::FrameDoor& door(unsigned side) { return doors_.at(side); }

  // What was sent can be received now.
  void carry() {
    for (Door& door : doors_) {
      while (!door.sent.empty()) {
        Frame frame = std::move(door.sent.front());
        door.sent.pop_front();
        if (!cuts_ || frame.segment_bytes == 0) {
          door.peer->arrived.push_back(std::move(frame));
          continue;
        }
        const std::span<const std::byte> whole = std::span(frame.bytes).first(frame.size);
        const std::size_t headers = fake::base_at(wire::roce::Network::kV2Ipv6);
        const std::size_t payload = whole.size() - headers;
        const std::size_t count = (payload + frame.segment_bytes - 1) / frame.segment_bytes;
        for (std::size_t i = 0; i < count; ++i) {
          Frame one = door.fresh();
          const auto segment =
              fake::segment_of(wire::roce::Network::kV2Ipv6, whole, frame.segment_bytes, i);
          std::ranges::copy(segment, one.bytes.begin());
          one.size = segment.size();
          one.segment_bytes = 0;
          door.peer->arrived.push_back(std::move(one));
        }
        door.unused.push_back(std::move(frame));
      }
    }
  }

 private:
  static constexpr std::size_t kMostFrameBytes = std::size_t{66} << 10;

  struct Frame {
    std::vector<std::byte> bytes;
    std::size_t size = 0;
    std::size_t segment_bytes = 0;
  };
  struct Door final : transport_roce::FrameDoor {
    std::optional<Received> receive() override {
      if (!current.bytes.empty()) peer->unused.push_back(std::move(current));
      current = {};
      if (arrived.empty()) return std::nullopt;
      current = std::move(arrived.front());
      arrived.pop_front();
      return Received{.bytes = std::span(current.bytes).first(current.size),
                      .segment_bytes = current.segment_bytes};
    }
    bool send(const wire::roce::SuperframeWriter::Whole& whole) override {
      Frame frame = fresh();
      std::ranges::copy(whole.frame, frame.bytes.begin());
      frame.size = whole.frame.size();
      frame.segment_bytes = whole.segment_bytes;
      sent.push_back(std::move(frame));
      return true;
    }
    std::size_t most_packets() const override { return 64; }
    Frame fresh() {
      if (unused.empty()) return {.bytes = std::vector<std::byte>(kMostFrameBytes)};
      Frame frame = std::move(unused.back());
      unused.pop_back();
      return frame;
    }

    Door* peer = nullptr;
    std::deque<Frame> sent;
    std::deque<Frame> arrived;
    std::vector<Frame> unused;
    Frame current;
  };

  const bool cuts_;
  std::array<Door, 2> doors_;
};

}  // namespace paravane::bench
