// WaitingTaps: the taps of all IPoIB uplinks of this host that frames can be read from, in line. In
// a turn of the thread all of them together are read up to a number of frames and for a time, some
// frames of each in its turn, and the next turn begins where this one has ended: VMs that flood one
// tap hold up neither the other taps nor what else the thread does.
//
// The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/instant.h"
#include "base/line.h"

namespace paravane::subnet_host {

class WaitingTaps {
 public:
  static constexpr std::size_t kFramesPerTurn = 512;
  static constexpr std::size_t kFramesAtOnce = 8;  // of one tap
  static constexpr Duration kTimePerTurn = std::chrono::milliseconds(4);

  class Reader {
   public:
    virtual ~Reader() = default;
    // Reads at most so many frames of a tap of its own and returns how many there were. With fewer
    // than `most` there are no more, or the tap is gone.
    virtual std::size_t read(std::uint16_t key, std::size_t most) = 0;
    // The tap waits again, if it is there.
    virtual void wait_again(std::uint16_t key) = 0;
  };
  // A tap, as its reader knows it.
  struct Tap {
    Reader& reader;
    std::uint16_t key;
    Line<Tap>::Place place{};
  };

  // `time` says what time it is, also within a turn.
  explicit WaitingTaps(std::function<Instant()> time = std::chrono::steady_clock::now)
      : time_(std::move(time)) {}

  // One that waits already keeps its place.
  void join(Tap& tap) {
    if (!tap.place.taken()) line_.join(tap, tap.place);
  }
  void leave(Tap& tap) { line_.leave(tap.place); }
  // Returns whether any waits still.
  bool turn();

 private:
  const std::function<Instant()> time_;
  Line<Tap> line_;
};

}  // namespace paravane::subnet_host
