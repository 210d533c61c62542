// Direct: payload that follows a block on its way out; Sink: payload on its way in. Both refer to
// a message and an offset in it, never to an address: the address is looked up for each step.
//
// Plain values.

#pragma once

#include <cstdint>
#include <optional>

#include "verbs/fabric_port.h"
#include "wire/frames.h"

namespace paravane::transport_tcp {

class InboundLink;
class OutboundDatagram;
class OutboundLink;

// Exactly one of the pointers is set, until what it leads to goes away.
struct Direct {
  OutboundLink* request = nullptr;  // of a message of ours
  InboundLink* answer = nullptr;    // of a READ of the peer's
  OutboundDatagram* datagram = nullptr;
  std::uint64_t serial = 0;
  std::uint64_t offset = 0;  // in the message
  std::uint64_t bytes = 0;
};

// What came for a sink.
enum class Arrival : std::uint8_t {
  kIntact,
  kDamaged,  // not what was sent
  kVoid,     // the sender had nothing to send any more, and will say why
};

// A datagram of a peer's that is arriving: its queue pair is looked up for each step.
struct ArrivingDatagram {
  wire::Datagram frame;
  verbs::AdapterId adapter{};
  std::uint64_t arrival = 0;  // of the queue pair's responder
};

// Exactly one of the first three is set, until what it leads to goes away.
struct Sink {
  InboundLink* message = nullptr;  // a message of the peer's
  OutboundLink* answer = nullptr;  // what a READ of ours brings
  std::optional<ArrivingDatagram> datagram{};
  std::uint64_t serial = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool ends_message = false;
};

}  // namespace paravane::transport_tcp
