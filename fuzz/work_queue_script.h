// The acts of work_queue_fuzz, for it and its seeds. After the act comes the end:
// 0 and 1 are connected, 2 sends datagrams, 3 is the kernel's QP1; 4 and 5 share a
// receive queue and are connected with 6 and 7.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class WorkAct : std::uint8_t {
  kSend,         // length, opcode, flags, target, SGEs, bent words, ring?
  kReceive,      // length, SGEs, bent words, ring?
  kIndex,        // which ring, value, tail or head
  kRing,         // top byte of the doorbell word
  kTime,         // microseconds
  kScribble,     // page, place, value
  kConsume,      // completions, arm?
  kMove,         // state
  kShared,       // length, SGEs, bent words, ring?: a receive for 4 and 5
  kSharedIndex,  // value, tail or head
  kLimit,        // of the shared receive queue
  kCount,
};

}  // namespace paravane::fake
