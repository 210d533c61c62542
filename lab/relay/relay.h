// Relay: carries frames between the two ends of a wire, doing to them what its
// impairment says. docs/lab.md is its manual.
//
// One thread.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "impairment.h"
#include "tap_end.h"

namespace paravane::lab {

using Instant = std::chrono::steady_clock::time_point;

// Of one direction.
struct WireCounts {
  std::uint64_t frames = 0;  // that came
  std::uint64_t bytes = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t damaged = 0;
  std::uint64_t queue_full = 0;  // dropped for that
  std::uint64_t while_down = 0;  // dropped for that
  std::uint64_t refused = 0;     // by the NIC they went to
};

class Relay {
 public:
  Relay(std::array<TapEnd, 2> ends, std::uint64_t seed) : ends_(std::move(ends)), seed_(seed) {}

  Impairment& impairment() { return impairment_; }
  int fd(unsigned end) const { return ends_[end].fd(); }

  // The link of both ends. Down, what is on its way is lost. Errors: kIo.
  Status set_link(bool up);
  bool link() const { return up_; }

  // Takes what came to an end, a bounded number of frames. Errors: kIo.
  Status take(unsigned end, Instant now);
  // Hands over what is due.
  void deliver(Instant now);
  // When the next one is; nullopt: none waits.
  std::optional<Instant> next_due() const;

  // Of the way from end 0 to end 1, and back.
  const WireCounts& counts(unsigned direction) const { return ways_[direction].counts; }

 private:
  struct Frame {
    Instant due;
    std::uint64_t order;  // of two that are due at once, the first that came
    std::vector<char> bytes;
    bool operator>(const Frame& other) const {
      return due != other.due ? due > other.due : order > other.order;
    }
  };
  struct Way {
    std::priority_queue<Frame, std::vector<Frame>, std::greater<>> waiting{};
    Instant free{};  // when the line can take the next one
    std::uint64_t number = 0;
    std::uint64_t order = 0;
    WireCounts counts{};
  };

  // May change them.
  void pass(unsigned direction, std::span<char> bytes, Instant now);
  void send(unsigned direction, std::span<const char> bytes, Duration late, Instant now);
  void hand_over(unsigned direction, std::span<const char> bytes);

  std::array<TapEnd, 2> ends_;
  const std::uint64_t seed_;
  Impairment impairment_;
  std::array<Way, 2> ways_;
  bool up_ = true;
};

}  // namespace paravane::lab
