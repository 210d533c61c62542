// TurnEffort: counts the work that one guest causes in one turn (time slice) of the worker. Each
// object, page and entry that is touched counts as one unit. Released memory counts one unit per
// host page, and a step that takes a microsecond or more counts as several.
//
// A turn never exceeds kMost units, no matter what a guest does. No request is started after
// kForRequests units, and no slice of longer work after kForSlices units. A request, a slice and
// the data path each have a maximum of their own, and the sum is below kMost
// (tests/conformance/turn_length_test.cc). A clock is not used, because elapsed time means little
// on a busy machine and reading it costs as much as a short message.
//
// A turn ends when the device's poll() returns. Work between two calls of poll() belongs to the
// turn of the second call. Owner thread only.

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

  // The cost of operations that take longer than touching one entry.
  static constexpr std::uint32_t kQueuePair = 16;
  static constexpr std::uint32_t kOtherObject = 4;

  // `for_slices`: with a value below kForSlices, destroying a few objects takes many turns (for
  // tests).
  explicit TurnEffort(std::uint32_t for_slices = kForSlices) : for_slices_(for_slices) {}

  void spend(std::uint64_t units) {
    constexpr std::uint64_t kTop = std::numeric_limits<std::uint32_t>::max();
    spent_ = static_cast<std::uint32_t>(std::min(kTop, spent_ + std::min(units, kTop)));
  }
  std::uint32_t spent() const { return spent_; }
  bool room_for_request() const { return spent_ < kForRequests; }
  bool room_for_slice() const { return spent_ < for_slices_; }

  // Ends the turn and returns its number of units.
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
