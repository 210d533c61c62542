// The acts of ipoib_uplink_fuzz, for it and its seeds. An input is a list of acts.
//
// A payload is: its kind (IpoibPayload), what that needs, and how many of its bytes are changed,
// each with its place (2 bytes) and its new value.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class IpoibUplinkAct : std::uint8_t {
  kFrame,    // VLAN, destination, source, type, payload: from a VM
  kPacket,   // flags, sender, destination, type, payload: from the subnet to the port
  kAnswer,   // transaction, flags, method, status (2), record: an answer of administration that was
             // not asked for, or comes before the right one
  kManners,  // of members or paths, flags, status: how administration answers from now on
  kGroup,    // VLAN, flags, Q_Key (4), MTU, LID (2): what it says of a group from now on
  kVlan,     // VLAN, whether it goes
  kKeys,     // flags: which partitions the port has, from now on
  kChange,   // 0: all register again, 1: the link goes, 2: it comes, 3: another LID and back
  kNode,     // LID, whether it goes: one that administration knows
  kTime,     // tenths of a second
  kMove,     // VLAN, MAC: another uplink of a team has the address for a moment
  kCount,
};

enum class IpoibPayload : std::uint8_t {
  kRaw,         // length, bytes
  kArp,         // operation, sender, target
  kIpv4,        // length (2), protocol, whether it may be fragmented
  kNeighbour,   // type, address
  kIpv6,        // length (2), next header
  kDhcpAnswer,  // nothing
  kIgmp,        // type, the last byte of its group, those of its record: type, sources
  kMld,         // the same
  kCount,
};

}  // namespace paravane::fake
