// Defines the frames (messages) that two hosts exchange about their queue pairs.
//
// A link leads from one queue pair, the requester, to its peer, the responder. Each connection has
// two links, one per direction. The requester gives the link a number for each channel. Both sides
// use this number, the requester in requests and the responder in responses. The requests of a link
// have serial numbers, which increase but need not be consecutive.
//
// docs/tcp-channel.md describes which frames each side may send, and when. All integers are
// little-endian; GIDs and immediate data keep the guest's byte order. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::wire {

using Le8 = WireInt<std::uint8_t, std::endian::little>;
using GidBytes = std::array<std::uint8_t, 16>;

enum class FrameKind : std::uint8_t {
  kPadding = 0,  // to the end of the block
  kHello = 1,    // first on a channel, in both directions, once
  kPing = 2,
  kPong = 3,
  kHold = 4,
  kHeld = 5,
  // Requester to responder.
  kOpen = 10,
  kRequest = 11,
  kMore = 12,
  kAbort = 13,
  kClose = 14,
  // Responder to requester.
  kOpened = 20,
  kClosed = 21,
  kAck = 22,
  kNak = 23,
  kData = 24,
  kWord = 25,
  kReady = 26,
  // In both directions, without a link.
  kDatagram = 30,
  // Of a trunk (trunk_frames.h).
  kTrunkOffer = 40,
  kTrunkReady = 41,
  // Of lanes (lane_frames.h).
  kLaneOpen = 50,
  kLaneReady = 51,
  kLaneClosed = 52,
  kClear = 53,
  kAnswerDue = 54,
  kClearAnswer = 55,
};

struct FrameHeader {
  Le16 length;  // of the frame, this header included, direct payload excluded
  Le8 kind;
  Le8 reserved{};  // 0
};

inline constexpr std::uint64_t kHelloMagic = 0x31'4C'4E'48'43'52'56'50;  // "PVRCHNL1"
inline constexpr std::uint16_t kProtocolVersion = 1;

// Bits of Hello::capabilities.
inline constexpr std::uint32_t kLongLives = 1;   // Open and Opened have LifeTops
inline constexpr std::uint32_t kTrunks = 2;      // the frames of trunk_frames.h
inline constexpr std::uint32_t kLaneFrames = 4;  // those of lane_frames.h
inline constexpr std::uint32_t kHolds = 8;       // Hold and Held

struct Hello {
  static constexpr FrameKind kKind = FrameKind::kHello;
  FrameHeader header{};
  Le64 magic;
  Le16 lowest_version;  // that the sender speaks
  Le16 highest_version;
  Le32 capabilities{};  // a bit per optional feature; unknown ones are not used
  // Of the daemon. Without kLongLives a daemon with another number remembers no requests.
  Le64 incarnation;
};

struct Ping {
  static constexpr FrameKind kKind = FrameKind::kPing;
  FrameHeader header{};
  Le64 number;  // of the sender's choice
};
struct Pong {
  static constexpr FrameKind kKind = FrameKind::kPong;
  FrameHeader header{};
  Le64 number;  // of the Ping
};

// The sender changes its engine, and its channels will end and be made anew: requests to it are to
// wait for it and spend no retry, for so long at most. 0: it goes on, as its next Hello says, too.
// The receiver bounds the time of all that a host asks for.
struct Hold {
  static constexpr FrameKind kKind = FrameKind::kHold;
  FrameHeader header{};
  Le32 milliseconds;
  Le64 number;  // of the sender's choice
};
struct Held {
  static constexpr FrameKind kKind = FrameKind::kHeld;
  FrameHeader header{};
  Le32 milliseconds;  // for which requests wait; 0: they do not
  Le64 number;        // of the Hold; one Held stands for all before it
};

// With kLongLives, the payload of Open: the upper halves of its lives, whose lower halves are in
// it. Neither half is 0. Such a life is one of a queue pair, whatever daemon has it: the requests
// that it has executed are known wherever it goes.
struct LifeTops {
  Le64 requester;
  Le64 responder;  // 0: not known yet
};
// With kLongLives, the payload of Opened.
struct LifeTop {
  Le64 responder;
};

// Sent before the first request of a link. Requests may follow immediately.
struct Open {
  static constexpr FrameKind kKind = FrameKind::kOpen;
  FrameHeader header{};
  Le32 link;
  Le32 requester_qpn;
  Le32 responder_qpn;
  Le8 gid_type;  // 1: RoCE v1, 2: RoCE v2
  std::array<Le8, 3> reserved{};
  GidBytes requester_gid;
  GidBytes responder_gid;
  Le64 segment;         // the network that both are in
  Le64 requester_life;  // of this connection of its queue pair; never 0
  Le64 responder_life;  // as Opened told it; 0: not known yet
};
struct Close {
  static constexpr FrameKind kKind = FrameKind::kClose;
  FrameHeader header{};
  Le32 link;
};

// The beginning of a message. Its payload, or the first part of it, follows in the frame or
// directly after the block.
struct Request {
  static constexpr FrameKind kKind = FrameKind::kRequest;
  FrameHeader header{};
  Le32 link;
  Le64 serial;  // never 0
  Le8 opcode;   // verbs::WrOpcode; the numbers stand in docs/tcp-channel.md
  Le8 solicited;
  Le8 by_lane{};  // 1: the payload, or that of the answer, waits for a Clear (lane_frames.h)
  Le8 reserved{};
  Le32 rkey;
  Le64 remote_addr;
  Le64 length;  // of the whole message, bytes
  std::array<std::byte, 4> imm;
  Le64 compare_add;
  Le64 swap;
};
// The next part of the message in progress on the link.
struct More {
  static constexpr FrameKind kKind = FrameKind::kMore;
  FrameHeader header{};
  Le32 link;
  Le64 offset;
};
// The message in progress will not be completed.
struct Abort {
  static constexpr FrameKind kKind = FrameKind::kAbort;
  FrameHeader header{};
  Le32 link;
};

struct Opened {
  static constexpr FrameKind kKind = FrameKind::kOpened;
  FrameHeader header{};
  Le32 link;
  Le64 responder_life;
};
// There is no responder for the link (any more). The requester treats it like no response on a
// wire.
struct Closed {
  static constexpr FrameKind kKind = FrameKind::kClosed;
  FrameHeader header{};
  Le32 link;
};
// The request and all before it were executed. READs and atomics are answered by Data and Word.
struct Ack {
  static constexpr FrameKind kKind = FrameKind::kAck;
  FrameHeader header{};
  Le32 link;
  Le64 serial;
};
// The request was not executed. All requests before it were, and none after it.
struct Nak {
  static constexpr FrameKind kKind = FrameKind::kNak;
  FrameHeader header{};
  Le32 link;
  Le64 serial;
  Le8 outcome;    // verbs::Outcome::Kind
  Le8 status;     // verbs::WcStatus
  Le8 rnr_timer;  // IBTA encoding
  Le8 reserved{};
};
// A part of the data that a READ requested.
struct Data {
  static constexpr FrameKind kKind = FrameKind::kData;
  FrameHeader header{};
  Le32 link;
  Le64 serial;
  Le64 offset;
};
// The previous value of the word that an atomic changed.
struct Word {
  static constexpr FrameKind kKind = FrameKind::kWord;
  FrameHeader header{};
  Le32 link;
  Le64 serial;
  Le64 value;
};
// A receive is posted at the responder again.
struct Ready {
  static constexpr FrameKind kKind = FrameKind::kReady;
  FrameHeader header{};
  Le32 link;
};

// One whole datagram; its payload follows in the frame.
struct Datagram {
  static constexpr FrameKind kKind = FrameKind::kDatagram;
  FrameHeader header{};
  Le32 source_qpn;
  Le32 dest_qpn;
  Le32 qkey;
  Le8 gid_type;
  Le8 with_imm;
  Le8 solicited;
  Le8 service_level;
  std::array<std::byte, 4> imm;
  Le32 flow_label;
  Le8 traffic_class;
  Le8 hop_limit;
  std::array<Le8, 2> reserved{};
  GidBytes source_gid;
  GidBytes dest_gid;
  Le64 segment;
};

inline constexpr std::size_t kMaxDatagramPayload = 4096;
// Messages shorter than this travel inside their frame.
inline constexpr std::size_t kDirectFrom = 4096;

}  // namespace paravane::wire
