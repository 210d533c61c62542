// The acts of mad_segments_fuzz's input, each one byte and then what it takes.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class SegmentAct : std::uint8_t {
  kSend,         // an honest port to the other: which u8, bytes of data u16, whether answered u8
  kDeliver,      // packets under way, from the oldest on: how many u8
  kTurnBack,     // the packet that is delivered next: which of those under way u8
  kLose,         // which u8
  kRepeat,       // which u8
  kTime,         // milliseconds u16
  kForget,       // a MAD that an honest port sends: which u8
  kPacket,       // of the hostile peer: to which u8, class u8, method u8, transaction u8, version
                 // u8, type u8, flags u8, status u8, number u8 or u32, length or window u8 or u32
  kSendHostile,  // an honest port to the hostile peer: which u8, bytes of data u16, method u8,
                 // transaction u8
  kAckHostile,   // the hostile peer acknowledges what it got last: how many more it wants u8
  kCount
};

}  // namespace paravane::fake
