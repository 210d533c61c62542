// PacketObserver sees what a port of an adapter sends and receives, for example to capture it:
// management and data, also what the port sends to itself, which it receives later, and what the
// link or the port's own checks drop. Without one, a packet costs a look at a null pointer.
//
// It may not call the adapter. The subnet's thread only.

#pragma once

#include <cstddef>
#include <span>

namespace paravane::subnet {

class PacketObserver {
 public:
  virtual ~PacketObserver() = default;
  // From the local route header to the padding (wire/infiniband/datagram.h). `packet` is valid
  // during the call; one that was received may be anything.
  virtual void on_sent(std::span<const std::byte> packet) = 0;
  virtual void on_received(std::span<const std::byte> packet) = 0;
};

}  // namespace paravane::subnet
