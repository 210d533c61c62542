// SegmentState and SegmentFailure: where a transfer of segments is, and why it failed. They are of
// both directions: SegmentSender and SegmentReceiver.
//
// Plain values.

#pragma once

#include <cstdint>
#include <vector>

#include "wire/infiniband/segments.h"

namespace paravane::subnet {

// MADs of 256 bytes that are to be sent, in this order.
using MadList = std::vector<wire::infiniband::MadBytes>;

enum class SegmentState : std::uint8_t {
  kRunning,
  kFinished,  // all was sent or joined; what the peer repeats is still answered
  kFailed,
  kOver,  // finished, and long enough ago
};

enum class SegmentFault : std::uint8_t {
  kNoAnswer,   // tries are used up
  kTooLong,    // the time of the whole transfer is used up
  kStopped,    // by the peer: it has no resources
  kAborted,    // by the peer
  kBadPacket,  // the peer breaks the protocol, and was told so
  kNoRoom,     // our resources are used up, and the peer was told so
};

struct SegmentFailure {
  SegmentFault fault = SegmentFault::kNoAnswer;
  std::uint8_t status = 0;  // segment_status: as it came from the peer, or was sent to it

  friend bool operator==(const SegmentFailure&, const SegmentFailure&) = default;
};

}  // namespace paravane::subnet
