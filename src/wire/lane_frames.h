// Defines the frames of lanes, by which two hosts move long messages over their RDMA adapters
// without a copy (docs/hca.md). They travel in a channel over a trunk, whose ends both say
// kLaneFrames.
//
// A lane is a queue pair of the two adapters beside the trunk's own. The host that receives bytes
// posts memory of its guest on a lane and says so (Clear, or ClearAnswer for a READ); the other
// host sends the piece that belongs there. A lane has one order: the pieces are sent in the order
// in which they were cleared.
//
// All integers are little-endian. Plain values; any thread.

#pragma once

#include <array>
#include <cstdint>

#include "wire/frames.h"

namespace paravane::wire {

// Of a trunk. Lane 0 is the stream.
inline constexpr std::uint32_t kLanes = 8;
// Messages from this length on go by lanes.
inline constexpr std::uint64_t kLaneFrom = std::uint64_t{16} * 1024;
// The longest piece.
inline constexpr std::uint64_t kLanePieceBytes = std::uint64_t{64} * 1024;
// Pieces that are cleared on a lane, and have not been received.
inline constexpr std::uint32_t kLaneDepth = 64;
// Requests without payload in the stream that a link may begin while the payload of an earlier one
// is on its way by a lane.
inline constexpr std::uint32_t kMostAhead = 16;

// The immediate data of a piece: the number of its Clear on the lane, since the lane was opened,
// and this bit if the piece is empty, because its memory is gone or cannot be sent by a lane.
inline constexpr std::uint32_t kVoidPiece = std::uint32_t{1} << 31;

// This end of the lane is closed and will be opened with this sequence number, as soon as the
// peer's is known.
struct LaneOpen {
  static constexpr FrameKind kKind = FrameKind::kLaneOpen;
  FrameHeader header{};
  Le8 lane;  // 1 to kLanes
  std::array<Le8, 3> reserved{};
  Le32 psn;
};
// This end is connected.
struct LaneReady {
  static constexpr FrameKind kKind = FrameKind::kLaneReady;
  FrameHeader header{};
  Le8 lane;
  std::array<Le8, 3> reserved{};
  Le32 psn;  // of the peer, which it is connected to
};

// This end was closed: what was cleared on the lane, either way, is not sent any more.
struct LaneClosed {
  static constexpr FrameKind kKind = FrameKind::kLaneClosed;
  FrameHeader header{};
  Le8 lane;
  std::array<Le8, 3> reserved{};
};

// Responder to requester: the bytes of the message that are to come next, and where.
struct Clear {
  static constexpr FrameKind kKind = FrameKind::kClear;
  FrameHeader header{};
  Le32 link;
  Le64 serial;
  Le64 offset;
  Le32 bytes;  // of lane 0: all that are left, whatever it says
  Le8 lane;    // 0: in the stream
  std::array<Le8, 3> reserved{};
  Le32 number;  // of the piece on its lane
};

// Responder to requester: it is the turn of this READ by a lane to be answered.
struct AnswerDue {
  static constexpr FrameKind kKind = FrameKind::kAnswerDue;
  FrameHeader header{};
  Le32 link;
  Le64 serial;
};
// Requester to responder: as Clear, for what the READ brings.
struct ClearAnswer {
  static constexpr FrameKind kKind = FrameKind::kClearAnswer;
  FrameHeader header{};
  Le32 link;
  Le64 serial;
  Le64 offset;
  Le32 bytes;
  Le8 lane;
  std::array<Le8, 3> reserved{};
  Le32 number;
};

}  // namespace paravane::wire
