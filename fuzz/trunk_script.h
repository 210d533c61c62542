// The acts of trunk_fuzz's input, each one byte and then what it takes.

#pragma once

#include <cstdint>

namespace paravane::fake {

// The first byte of an input.
enum class TrunkPart : std::uint8_t { kLeads, kFollows, kStream, kCount };

// Of a host that arranges a trunk.
enum class ArrangeAct : std::uint8_t {
  kOffer,   // state u8, number u8, is_infiniband u8, path MTU u16, qpn u32, psn u32
  kGood,    // an offer that makes sense, or the answer to ours
  kReady,   // number u8
  kTime,    // milliseconds u16
  kDevice,  // whether there is one u8
  kRefuse,  // what the adapter refuses u8
  kLost,    // number u8
  kCount
};

// Of a host at the other end of the queue pair.
enum class StreamAct : std::uint8_t {
  kSend,    // bytes u16, immediate u32
  kSendOn,  // bytes u16, with the right immediate
  kRead,    // bytes u16
  kWrite,   // bytes u16
  kPost,    // takes what has arrived, and posts its buffers again
  kFail,    // the adapter
  kCount
};

}  // namespace paravane::fake
