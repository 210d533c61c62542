// The acts of driver_fuzz, for it and its seeds. An input begins with the device's
// configuration; then come acts. After the act comes which of the two hostile VMs
// does it (the lowest bit), then what is listed.
//
// Objects are named by their place: what lies in place i belongs together, so that
// bytes that mean nothing still make something that works (hostile_driver.h).

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class DriverAct : std::uint8_t {
  kCreate,     // kind, place, foreign parts, bent words: CREATE_UC, _PD, _CQ, _SRQ, _MR, _QP
  kDestroy,    // kind, place, bent words
  kConnect,    // place, peer's VM, peer's place, options: all it takes, to RTS on both sides
  kMove,       // place, state
  kModify,     // place, state, mask, bent words
  kAsk,        // which, place, bent words: queries, limits of SRQs, RESIZE_CQ, anything
  kSend,       // place, peer, opcode, flags, regions, bytes, how many, bent words, ring?
  kReceive,    // place, region, bytes, how many, bent words, ring?
  kRegister,   // region, pages, bytes, key: fast registration, and use, and invalidation
  kRing,       // page, offset, word
  kIndex,      // ring, value, tail or head
  kScribble,   // page, place in it, value
  kAlias,      // two pages: one object's directory names another's page
  kConsume,    // place, completions, arm?
  kGid,        // index, which, bind or not
  kTime,       // microseconds
  kMemory,     // what, pages: of the DMA map
  kReset,      // how; then it boots again
  kRegisters,  // offset, size, value
  kThreads,    // how many, acts: the guest's other processors, for so many acts
  kBystander,  // traffic of the VM that is in nobody's way
  kHost,  // what: the host pulls or plugs its cable, says that it will be gone, takes memory away
  kCount,
};

// What a create, destroy or query is about.
enum class Kind : std::uint8_t { kContext, kPd, kCq, kSrq, kMr, kQp, kCount };

// A peer that is none of the two: the well-behaved VM.
inline constexpr std::uint32_t kPeerBystander = 2;

}  // namespace paravane::fake
