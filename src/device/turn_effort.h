// TurnEffort: the work that one guest causes in one turn of the worker, in units: each object,
// page and entry touched counts as one. Released memory counts one unit per host page, and steps
// that take a microsecond or more count as several.
//
// Whatever a guest does, a turn stays below kMost: no request is started after the first
// kForRequests units, and no slice of work after the first kForSlices. Each request, each slice
// and the data path's budget has its own limit, and their sum fits
// (tests/conformance/turn_length_test.cc). A clock would not do: elapsed time means nothing on a
// busy machine, and reading it costs as much as a short message.
//
// A turn ends with the device's poll(); work done between two polls belongs to the second.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace paravane::device {

class TurnEffort {
 public:
  static constexpr std::uint32_t kMost = 20'000;
  static constexpr std::uint32_t kForRequests = 2'000;
  static constexpr std::uint32_t kForSlices = 6'000;

  // Of things that take longer than the look at one entry.
  static constexpr std::uint32_t kQueuePair = 16;
  static constexpr std::uint32_t kOtherObject = 4;

  // `for_slices`: less than kForSlices makes a burial of a few objects take many turns.
  explicit TurnEffort(std::uint32_t for_slices = kForSlices) : for_slices_(for_slices) {}

  void spend(std::uint64_t units) {
    constexpr std::uint64_t kTop = std::numeric_limits<std::uint32_t>::max();
    spent_ = static_cast<std::uint32_t>(std::min(kTop, spent_ + std::min(units, kTop)));
  }
  std::uint32_t spent() const { return spent_; }
  bool room_for_request() const { return spent_ < kForRequests; }
  bool room_for_slice() const { return spent_ < for_slices_; }

  // Returns what the turn took.
  std::uint32_t end_turn() {
    const std::uint32_t spent = spent_;
    spent_ = 0;
    return spent;
  }

 private:
  std::uint32_t for_slices_;
  std::uint32_t spent_ = 0;
};

}  // namespace paravane::device
