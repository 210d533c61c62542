// Defines the frames by which two hosts arrange a trunk, a channel over their RDMA adapters
// (docs/hca.md). They travel in the channel over TCP, between hosts that both say kTrunks.
//
// One of the two leads: the one that has dialed the channel. It offers a queue pair of its adapter.
// The other connects one of its own to it, and answers with that. The leading host connects its
// queue pair to the answer, and confirms it. Then both hosts may use the trunk. A host without a
// usable adapter sends the reason instead, and a notice when it has an adapter again.
//
// All integers are little-endian. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/frames.h"
#include "wire/lane_frames.h"

namespace paravane::wire {

enum class TrunkState : std::uint8_t {
  kOffered = 0,    // the queue pair of this frame
  kNoAdapter = 1,  // the host has no usable adapter
  kOff = 2,        // by policy
  kEncrypted = 3,  // its channels are encrypted, and a trunk would not be
  kPortDown = 4,
  kIwarp = 5,  // connects its queue pairs in another way
  kFailed = 6,
  kPreparing = 7,
  kWilling = 8,    // of the host that does not lead: it awaits an offer
  kOtherSeal = 9,  // its `[channel] seal` is not that of the offer
};

inline constexpr std::size_t kTrunkNonceBytes = 32;
using TrunkNonce = std::array<std::byte, kTrunkNonceBytes>;

struct TrunkOffer {
  static constexpr FrameKind kKind = FrameKind::kTrunkOffer;
  FrameHeader header{};
  Le8 state;  // TrunkState; but for kOffered, what follows is 0
  Le8 is_infiniband;
  Le16 lid;
  Le64 number;  // of the leading host's offer, rising; never 0; an answer has that of its offer
  Le32 qpn;
  Le32 psn;
  Le32 path_mtu_bytes;
  std::array<Le32, kLanes> lane_qpns;  // the queue pairs of lanes 1 to kLanes
  GidBytes gid;
  TrunkNonce nonce;        // random; the keys of the trunk are made of both
  Le8 seals_frames_alone;  // 1: `[channel] seal` is "frames"; 0: it is "all"
};

// The leading host's queue pair is connected to the answer.
struct TrunkReady {
  static constexpr FrameKind kKind = FrameKind::kTrunkReady;
  FrameHeader header{};
  Le64 number;  // of its offer
};

}  // namespace paravane::wire
