// LinkEnd: what a port sends its packets into: one end of a link to another port.
//
// The subnet's thread only.

#pragma once

#include <cstddef>
#include <vector>

namespace paravane::subnet {

// From the local route header to the padding; wire/infiniband/datagram.h.
using Packet = std::vector<std::byte>;

class LinkEnd {
 public:
  virtual ~LinkEnd() = default;
  // Takes the packet on its way; one that cannot be is dropped and counted by the link.
  virtual void send(Packet packet) = 0;
  // The physical state of the port was set. The link is judged again, not within this call.
  virtual void on_order() = 0;
};

}  // namespace paravane::subnet
