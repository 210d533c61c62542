// The acts of cable_fuzz's input, each one byte and then what it takes.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class CableAct : std::uint8_t {
  kBytes,       // of the hostile host: how many u8, and these
  kHello,       // version u8, GUID u8
  kBeat,        //
  kWord,        // of its port: u8
  kPacket,      // to a LID that is there u8, cables u8, payload u8, queue pair u8, lane u8
  kManagement,  // to a node by a directed route: method u8, attribute u8, which u8
  kTime,        // milliseconds u16
  kRoom,        // bytes that the stream takes from now on u16
  kReconnect,   //
  kOrder,       // the manager of the host orders the port at the cable: state u8
  kSend,        // packets of the host into the cable: how many u8, cables u8
  kCount
};

}  // namespace paravane::fake
