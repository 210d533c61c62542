#include "ipoib/group_mac.h"

#include <cstdint>
#include <variant>

namespace paravane::ipoib {
namespace {

MacBytes mac_of_address(const wire::infiniband::Ipv4Address& group) {
  return {0x01, 0x00, 0x5E, static_cast<std::uint8_t>(group[1] & 0x7F), group[2], group[3]};
}
MacBytes mac_of_address(const wire::infiniband::Ipv6Address& group) {
  return {0x33, 0x33, group[12], group[13], group[14], group[15]};
}

}  // namespace

MacBytes mac_of_group(const IpGroup& group) {
  return std::visit([](const auto& address) { return mac_of_address(address); }, group);
}

MacBytes group_mac_of(std::span<const std::byte> packet) {
  const auto group = group_of(packet);
  return group ? mac_of_group(*group) : kBroadcastMac;
}

}  // namespace paravane::ipoib
