// The acts of channel_fuzz, for it and its seeds. An input begins with a byte: bit 0
// says whether the channel is sealed, and bit 1 whether it has lanes. Then come acts.
//
// Links, queue pairs and serials are small numbers, so that most of what is said is
// about something that is there.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class ChannelAct : std::uint8_t {
  kHello,      // versions
  kOpen,       // link, queue pair, what is wrong with it
  kRequest,    // link, opcode, serial, length, whether by a lane, region, offset, bytes inside
  kMore,       // link, offset, bytes inside
  kPlain,      // a frame of few fields: which; link; of Hold and Held time and number
  kAck,        // link, serial
  kNak,        // link, serial, outcome, status, timer
  kData,       // link, serial, offset, bytes inside
  kWord,       // link, serial
  kDatagram,   // queue pair, what is wrong with it, bytes inside
  kBend,       // place, value: of the record that is being made
  kEnd,        // direct bytes, verdict: the record is sent
  kRaw,        // length, bytes: no record at all
  kPost,       // queue pair, opcode, bytes: a request of our own
  kReceive,    // queue pair, bytes
  kTurns,      // how many
  kTime,       // milliseconds
  kFetch,      // the peer reads what it was sent
  kMeet,       // a new connection
  kQueuePair,  // queue pair, what: error, or gone and made again
  kRegion,     // the region's key is taken away
  kForget,     // the directory forgets the host, or knows it again
  kHoldBack,   // bytes / 16: so much of the next record is sent with the one after it
  kLane,       // which: open, ready, closed, or it fails; lane, number
  kClear,      // which: Clear, ClearAnswer, AnswerDue; link, serial, offset, bytes, lane, number
  kPiece,      // bytes, number, whether it is void: on a lane
  kHoldPeers,  // seconds: we ask to be waited for
  kCount,
};

}  // namespace paravane::fake
