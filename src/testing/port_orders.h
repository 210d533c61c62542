// What a subnet manager orders a port, for tests that have none.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "subnet/port.h"

namespace paravane::fake {

// For Port::set_info(): all as it is, and no change of a state. What differs is the test's.
inline wire::infiniband::PortInfo wish_at(const subnet::Port& port) {
  wire::infiniband::PortInfo wish = port.info();
  wish.speed_supported_state &= 0xF0;
  wish.physical_state_default &= 0x0F;
  return wish;
}
inline bool order_port(subnet::Port& port, wire::infiniband::PortState state) {
  wire::infiniband::PortInfo wish = wish_at(port);
  wish.speed_supported_state |= static_cast<std::uint8_t>(state);
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
  wire::infiniband::PortInfo wish = wish_at(port);
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
