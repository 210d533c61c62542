// LinkNews: one change of this host's part of an InfiniBand subnet, as an operator is told of it:
// of a port of an adapter, of a cable to another host, or of a subnet manager at a port of this
// host.
//
// A plain value; any thread.

#pragma once

#include <cstdint>
#include <string>

#include "model/event.h"
#include "subnet/port.h"

namespace paravane::subnet_host {

struct LinkNews {
  enum class Of : std::uint8_t {
    kPort,     // of an adapter: it is Active, or not any more
    kManager,  // a program at the port says that it is a subnet manager, or has ended
    kCable,    // its link is trained, or is not any more
  };
  Of of = Of::kPort;
  std::string name{};           // of the adapter, or of the host at the cable's other end
  subnet::PortNumber port = 0;  // of the adapter
  bool is_up = false;
  std::string reason{};         // why a port or cable is not up
  std::uint64_t kept_back = 0;  // changes before this one that were not told
};

model::Event event_of(const LinkNews& news);

}  // namespace paravane::subnet_host
