// DatagramPort: takes the management datagrams that this room sends from queue pair 1 of one port.
// The owner of the port implements it.

#pragma once

#include <cstddef>
#include <span>

#include "wire/infiniband/datagram.h"
#include "wire/infiniband/mad.h"

namespace paravane::connection {

class DatagramPort {
 public:
  virtual ~DatagramPort() = default;
  // `to` is a GID of the other port; the datagram goes to its queue pair 1. false: there is no room
  // now. What must arrive is then sent again soon. It calls nothing of the sender.
  virtual bool send(const wire::infiniband::Gid& to,
                    std::span<const std::byte, wire::infiniband::kMadBytes> mad) = 0;
};

}  // namespace paravane::connection
