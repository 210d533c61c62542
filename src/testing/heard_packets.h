// HeardPackets: a receiver that keeps where packets have arrived and how long they were.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <vector>

#include "subnet/packet_queue.h"

namespace paravane::fake {

class HeardPackets : public subnet::PacketReceiver {
 public:
  void on_packet(subnet::PortNumber arrived, subnet::Packet packet) override {
    ports.push_back(arrived);
    bytes.push_back(packet.size());
  }
  std::vector<subnet::PortNumber> ports;
  std::vector<std::size_t> bytes;
};

}  // namespace paravane::fake
