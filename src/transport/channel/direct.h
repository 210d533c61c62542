// Direct describes payload to be sent after a block, and Sink describes payload to be received.
// Both refer to a message and an offset in it, and never to an address. Guest memory can be
// unmapped between two steps, so the address is looked up for each step.
//
// Plain values.

#pragma once

#include <cstdint>
#include <optional>

#include "verbs/fabric_port.h"
#include "wire/frames.h"

namespace paravane::transport_channel {

class InboundLink;
class OutboundDatagram;
class OutboundLink;

// Exactly one of the pointers is set. It is cleared when its object goes away.
struct Direct {
  OutboundLink* request = nullptr;  // of a message of ours
  InboundLink* answer = nullptr;    // of a READ of the peer's
  OutboundDatagram* datagram = nullptr;
  std::uint64_t serial = 0;
  std::uint64_t offset = 0;  // in the message
  std::uint64_t bytes = 0;
};

// The condition in which the payload for a Sink arrived.
enum class Arrival : std::uint8_t {
  kIntact,
  kDamaged,  // not what was sent
  kVoid,     // the sender's memory was gone; it will send the reason
};

// A peer's datagram that is arriving. Its queue pair is looked up for each step.
struct ArrivingDatagram {
  wire::Datagram frame;
  verbs::AdapterId adapter{};
  std::uint64_t arrival = 0;  // of the queue pair's responder
};

// Exactly one of the first three is set. It is cleared when its object goes away.
struct Sink {
  InboundLink* message = nullptr;  // a message of the peer's
  OutboundLink* answer = nullptr;  // what a READ of ours brings
  std::optional<ArrivingDatagram> datagram{};
  std::uint64_t serial = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool ends_message = false;
};

}  // namespace paravane::transport_channel
