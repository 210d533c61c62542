// The acts of roce_flow_fuzz, for it and its seeds. An input begins with a byte: bit 0 says whether
// a frame can have many packets. Then come acts.
//
// Numbers of packets are given by their distance from the one that is expected, so that most
// packets fit their connection.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class RoceFlowAct : std::uint8_t {
  kTalk,       // direction, operation, bytes: a request between the two honest queue pairs
  kWeather,    // shares of what is lost, repeated, late, damaged
  kPath,       // where it leads: memory, nowhere, the network
  kRequest,    // opcode, queue pair, flags, distance, bytes, region: of the hostile peer
  kAnswer,     // opcode, queue pair, flags, distance, syndrome, bytes: of the hostile peer
  kDatagram,   // flags, what is wrong with it, bytes
  kRaw,        // length, bytes: any frame
  kPost,       // queue pair, operation, bytes: a request of ours to the hostile peer
  kReceive,    // queue pair, bytes
  kTurns,      // how many, operations in each
  kTime,       // milliseconds
  kRoom,       // frames that wait on the wire at most
  kQueuePair,  // queue pair, what: error, gone and made again, another address
  kRegion,     // the region's key is taken away
  kProbe,      // what, flags: a probe of a router, an answer, a request that has it probed
  kHandOver,   // turns: another engine takes over the side that the hostile peer talks to
  kCount,
};

}  // namespace paravane::fake
