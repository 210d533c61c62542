// RoceWire: the network between two doors. It cuts superframes apart as a kernel does, or leaves
// them whole, and does to each packet what the test says.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "testing/roce_frames.h"
#include "transport/roce/frame_door.h"

namespace paravane::fake {

class RoceWire {
 public:
  // `most_packets`: of a superframe that the doors take. `cuts`: it arrives in packets.
  explicit RoceWire(std::size_t most_packets = 64, bool cuts = true);

  transport_roce::FrameDoor& door(unsigned side) { return doors_.at(side); }

  // What becomes of a frame that was sent by `side`: the frames that arrive, in order. REQUIRES:
  // the wire cuts.
  using Weather = std::function<std::vector<FrameBytes>(unsigned side, FrameBytes frame)>;
  void set_weather(Weather weather) { weather_ = std::move(weather); }
  // A frame from elsewhere arrives at the door of `side`.
  void inject(unsigned side, FrameBytes frame);

  // A frame to the MAC address 0 reaches the door of `side` with this one: the program of a test
  // has no kernel that finds out what belongs to a GID.
  void set_mac(unsigned side, const wire::roce::MacBytes& mac) { macs_.at(side) = mac; }

  // How many frames wait at a door that is not read; more are lost.
  void set_most_arriving(std::size_t frames) { most_arriving_ = frames; }
  // Of the network.
  void set_mtu(std::uint32_t bytes) { mtu_ = bytes; }
  // What waits at a door is lost, as with a port that is closed.
  void lose_arriving(unsigned side) { doors_.at(side).arriving.clear(); }
  // Whether frames are under way.
  bool busy() const;
  // How many frames may wait at a door.
  void set_room(std::size_t frames) { room_ = frames; }
  std::uint64_t sent(unsigned side) const { return doors_.at(side).sent; }

 private:
  struct Door final : transport_roce::FrameDoor {
    std::optional<Received> receive() override;
    bool send(const wire::roce::SuperframeWriter::Whole& whole) override;
    std::uint32_t mtu() const override { return wire->mtu_; }
    std::size_t most_packets() const override { return wire->most_packets_; }

    struct Arriving {
      FrameBytes bytes;
      std::size_t segment_bytes = 0;
    };
    RoceWire* wire = nullptr;
    unsigned side = 0;
    std::deque<Arriving> arriving;
    Arriving current;
    std::uint64_t sent = 0;  // frames, as they were handed over
  };

  void deliver(unsigned from, FrameBytes frame);

  const std::size_t most_packets_;
  const bool cuts_;
  std::uint32_t mtu_ = 9000;
  std::size_t room_ = 100'000;
  std::size_t most_arriving_ = 2'000'000;
  Weather weather_;
  std::array<wire::roce::MacBytes, 2> macs_{};
  std::array<Door, 2> doors_;
};

}  // namespace paravane::fake
