// TurnEffort: what one guest has made its device touch in one turn of the worker:
// objects, pages and entries, a unit each. Memory that is given back counts by the page
// of ours, and what takes a microsecond or more counts as several units.
//
// Whatever a guest does, a turn stays below kMost: no request of the guest's is begun
// after the first kForRequests units and no slice of work after the first kForSlices;
// each request, each slice and all that the data path may do within its budget has a
// bound of its own, and together they fit (tests/conformance/turn_length_test.cc). A clock would
// not do: how much time has gone says nothing on a busy machine, and reading it costs as much as a
// short message.
//
// A turn ends with the device's poll(): what happens between two belongs to the second.
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
