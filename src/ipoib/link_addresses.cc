#include "ipoib/link_addresses.h"

namespace paravane::ipoib {

bool LinkAddresses::is_vm(const MacBytes& mac, std::uint16_t vlan) const {
  const OwnAddresses::Address* own = own_.find(mac, vlan);
  return own != nullptr && clock_.now - own->last_used < OwnAddresses::kIdle;
}

std::optional<MacBytes> LinkAddresses::mac_of(std::uint16_t vlan,
                                              const RemoteQueuePair& remote) const {
  const auto mac = remote_mac(remote);
  if (mac && is_vm(*mac, vlan)) return std::nullopt;
  return mac;
}

bool LinkAddresses::is_own(const RemoteQueuePair& remote) const {
  return port_.has_lid(remote.lid) && own_.find(remote.number) != nullptr;
}

LinkAddresses::IpoibAddress LinkAddresses::address_of(const OwnAddresses::Address& own) const {
  return address_with(own.queue_pair, port_.gid());
}

const OwnAddresses::Address* LinkAddresses::own_at(std::uint16_t vlan,
                                                   const IpoibAddress& address) const {
  const OwnAddresses::Address* own = own_.find(address.queue_pair());
  return own != nullptr && own->vlan == vlan && address.gid == port_.gid() ? own : nullptr;
}

}  // namespace paravane::ipoib
