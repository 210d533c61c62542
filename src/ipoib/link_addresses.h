// LinkAddresses: which MAC and which queue pair belong together at an uplink. What is on its side
// is a VM with a MAC, for which a queue pair of the uplink's port stands in the subnet
// (own_addresses.h). What is on the other side is a queue pair, for which a MAC stands on the VMs'
// Ethernet (remote_mac.h).
//
// A VM may have a MAC of the kind that stands for queue pairs. The MAC is the VM's as long as a
// bridge would remember it, so that the VM goes on, as on Ethernet; the queue pair has none then.
//
// Packets say what they like of addresses: what is not as the subnet has it is not found here. The
// subnet's thread only.

#pragma once

#include <cstdint>
#include <optional>

#include "base/turn_clock.h"
#include "ipoib/own_addresses.h"
#include "ipoib/remote_mac.h"
#include "subnet/port.h"
#include "wire/infiniband/ip_over_infiniband.h"

namespace paravane::ipoib {

class LinkAddresses {
 public:
  using IpoibAddress = wire::infiniband::IpoibAddress;

  // All outlive us. `port`: that of the uplink.
  LinkAddresses(const subnet::Port& port, const OwnAddresses& own, const TurnClock& clock)
      : port_(port), own_(own), clock_(clock) {}

  // ---- MACs ----
  // Whether a VM here has spoken with this MAC, not longer ago than a bridge remembers.
  bool is_vm(const MacBytes& mac, std::uint16_t vlan) const;
  // The MAC that stands for a queue pair there; nullopt: it cannot have one, or a VM here has it.
  std::optional<MacBytes> mac_of(std::uint16_t vlan, const RemoteQueuePair& remote) const;

  // ---- Queue pairs ----
  // Whether it is one of ours, as the other uplinks of the port see it.
  bool is_own(const RemoteQueuePair& remote) const;

  // ---- Addresses of ARP and neighbour discovery ----
  IpoibAddress address_of(const OwnAddresses::Address& own) const;
  // nullptr: `address` is not one of ours in the VLAN.
  const OwnAddresses::Address* own_at(std::uint16_t vlan, const IpoibAddress& address) const;

 private:
  const subnet::Port& port_;
  const OwnAddresses& own_;
  const TurnClock& clock_;
};

// Of a queue pair for datagrams.
inline wire::infiniband::IpoibAddress address_with(std::uint32_t queue_pair,
                                                   const wire::infiniband::Gid& gid) {
  return {.number = Be24(queue_pair), .gid = gid};
}

}  // namespace paravane::ipoib
