// LinkEnd: what a port sends its packets into: one end of a link to another port.
//
// The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace paravane::subnet {

// The bytes of a packet, from the local route header to the padding (wire/infiniband/datagram.h),
// and what is known of its way.
class Packet : public std::vector<std::byte> {
 public:
  using vector::vector;
  // Of this host: it came through no cable yet.
  Packet(std::vector<std::byte> bytes) : vector(std::move(bytes)) {}

  // How many cables between hosts it came through. The local route header has no hop limit; a cable
  // has one (cable/cable.h), so that a loop in the tables of several switches ends.
  std::uint8_t cables = 0;
  // Names the port of this host's switch through which it came in, whose share of room it uses;
  // never followed. nullptr: it came in through none.
  const void* entered = nullptr;
};

class LinkEnd {
 public:
  virtual ~LinkEnd() = default;
  // Takes the packet on its way; one that cannot be is dropped and counted by the link.
  virtual void send(Packet packet) = 0;
  // The physical state of the port was set. The link is judged again, not within this call.
  virtual void on_order() = 0;
};

}  // namespace paravane::subnet
