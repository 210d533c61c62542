// The acts of subnet_packet_fuzz, for it and its seeds. An input begins with a byte: bit 0 says
// whether the hostile host may manage the subnet, bit 1 whether the manager has a key. Then come
// acts.
//
// Where a packet enters: 0 the cable of the switch, 1 the first adapter's port, 2 the second's, 3
// the switch's port of the second adapter. Where the hostile host may not manage, all come by the
// cable.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class SubnetPacketAct : std::uint8_t {
  kRaw,      // where, length, bytes
  kRoute,    // where, SMP, pointer, count, count times a port: on a directed route
  kByLid,    // where, SMP, LID, LID of the sender
  kService,  // where, flags, class, method, attribute, LID, bytes of it: to queue pair 1
  kSegment,  // where, flags, type, status, number, length or window: of a long MAD
  kData,     // where, flags, LID, bytes
  kTime,     // hundredths of a second
  kSweep,    // the manager looks again
  kAsk,      // the program of the second adapter asks: LID, tries
  kCable,    // the cable is unplugged, or plugged again
  kCount,
};
// An SMP is: flags (0: directed back, 1: with the key, 2: a status, 3: raw data), method,
// attribute, modifier (4 bytes); with flag 3, length and that many bytes of its attribute, else
// what the attribute is now with one byte changed: place, value.

}  // namespace paravane::fake
