// RecordingLinkEnd: an end of a link that keeps what a port sends. set_port_active() orders a port
// as a manager does.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "subnet/link_end.h"
#include "subnet/port.h"

namespace paravane::fake {

class RecordingLinkEnd final : public subnet::LinkEnd {
 public:
  void send(subnet::Packet packet) override { sent.push_back(std::move(packet)); }
  void on_order() override { ++orders; }
  std::vector<subnet::Packet> take() { return std::exchange(sent, {}); }

  std::vector<subnet::Packet> sent;
  unsigned orders = 0;
};

inline bool order_port(subnet::Port& port, wire::infiniband::PortState state) {
  wire::infiniband::PortInfo wish = port.info();
  wish.speed_supported_state =
      static_cast<std::uint8_t>((wish.speed_supported_state & 0xF0) | static_cast<unsigned>(state));
  wish.physical_state_default &= 0x0F;
  return port.set_info(wish) == 0;
}
inline bool set_port_active(subnet::Port& port) {
  port.link_up(subnet::Speed::kQuad);
  return order_port(port, wire::infiniband::PortState::kArmed) &&
         order_port(port, wire::infiniband::PortState::kActive);
}
// Sets what a manager sets at a port with a LID.
inline bool set_port_identity(subnet::Port& port, std::uint16_t lid, std::uint16_t master,
                              std::uint64_t key = 0) {
  wire::infiniband::PortInfo wish = port.info();
  wish.speed_supported_state &= 0xF0;
  wish.physical_state_default &= 0x0F;
  wish.lid.set(lid);
  wish.master_lid.set(master);
  wish.management_key.set(key);
  return port.set_info(wish) == 0;
}
inline bool set_port_keys(subnet::Port& port, std::vector<std::uint16_t> keys) {
  wire::infiniband::PartitionBlock block;
  keys.resize(block.size());
  for (std::size_t i = 0; i < keys.size(); ++i) block[i].set(keys[i]);
  return port.set_partitions(0, block);
}

}  // namespace paravane::fake
