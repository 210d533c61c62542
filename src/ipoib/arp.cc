#include "ipoib/arp.h"

#include <algorithm>
#include <bit>

#include "ipoib/group_mac.h"
#include "wire/roce/header_at.h"

namespace paravane::ipoib {
namespace {

constexpr std::uint16_t kEthernetHardware = 1;

template <typename Address>
struct ArpPacket {
  Be16 hardware;
  Be16 protocol;
  std::uint8_t hardware_bytes = 0;
  std::uint8_t protocol_bytes = 0;
  Be16 operation;
  Address sender{};
  Ipv4Address sender_ipv4{};
  Address target{};
  Ipv4Address target_ipv4{};
};
static_assert(sizeof(ArpPacket<MacBytes>) == kEthernetArpBytes);
static_assert(sizeof(ArpPacket<IpoibAddress>) == kInfinibandArpBytes);

bool is_of_one_station(const MacBytes& mac) {
  return is_station_mac(mac);
}
bool is_of_one_station(const IpoibAddress& address) {
  return wire::infiniband::is_of_interface(address);
}

template <typename Address>
std::expected<Arp<Address>, ArpRefusal> read_arp(std::span<const std::byte> bytes,
                                                 std::uint16_t hardware) {
  if (bytes.size() < sizeof(ArpPacket<Address>)) return std::unexpected(ArpRefusal::kShort);
  const auto packet = wire::roce::header_at<ArpPacket<Address>>(bytes);
  if (packet.hardware.get() != hardware || packet.hardware_bytes != sizeof(Address))
    return std::unexpected(ArpRefusal::kHardware);
  if (packet.protocol.get() != wire::roce::kEtherTypeIpv4 ||
      packet.protocol_bytes != sizeof(Ipv4Address)) {
    return std::unexpected(ArpRefusal::kProtocol);
  }
  const auto operation = static_cast<ArpOperation>(packet.operation.get());
  if (operation < ArpOperation::kRequest || operation > ArpOperation::kReverseReply)
    return std::unexpected(ArpRefusal::kOperation);
  if (!is_of_one_station(packet.sender)) return std::unexpected(ArpRefusal::kSender);
  return Arp<Address>{.operation = operation,
                      .sender = packet.sender,
                      .sender_ipv4 = packet.sender_ipv4,
                      .target = packet.target,
                      .target_ipv4 = packet.target_ipv4};
}

template <typename Address>
std::array<std::byte, sizeof(ArpPacket<Address>)> written(const Arp<Address>& arp,
                                                          std::uint16_t hardware) {
  ArpPacket<Address> packet;
  packet.hardware.set(hardware);
  packet.protocol.set(wire::roce::kEtherTypeIpv4);
  packet.hardware_bytes = sizeof(Address);
  packet.protocol_bytes = sizeof(Ipv4Address);
  packet.operation.set(static_cast<std::uint16_t>(arp.operation));
  packet.sender = arp.sender;
  packet.sender_ipv4 = arp.sender_ipv4;
  packet.target = arp.target;
  packet.target_ipv4 = arp.target_ipv4;
  return std::bit_cast<std::array<std::byte, sizeof packet>>(packet);
}

}  // namespace

std::expected<EthernetArp, ArpRefusal> read_ethernet_arp(std::span<const std::byte> packet) {
  return read_arp<MacBytes>(packet, kEthernetHardware);
}

std::expected<InfinibandArp, ArpRefusal> read_infiniband_arp(std::span<const std::byte> packet) {
  if (packet.size() > kInfinibandArpBytes) return std::unexpected(ArpRefusal::kLong);
  return read_arp<IpoibAddress>(packet, wire::infiniband::kInfinibandHardware);
}

std::array<std::byte, kEthernetArpBytes> ethernet_arp(const EthernetArp& arp) {
  return written(arp, kEthernetHardware);
}

std::array<std::byte, kInfinibandArpBytes> infiniband_arp(const InfinibandArp& arp) {
  return written(arp, wire::infiniband::kInfinibandHardware);
}

InfinibandArp to_infiniband(const EthernetArp& arp, const IpoibAddress& sender,
                            const std::optional<IpoibAddress>& target) {
  return {.operation = arp.operation,
          .sender = sender,
          .sender_ipv4 = arp.sender_ipv4,
          .target = target.value_or(IpoibAddress{}),
          .target_ipv4 = arp.target_ipv4};
}

EthernetArp to_ethernet(const InfinibandArp& arp, const MacBytes& sender, const MacBytes& target) {
  return {.operation = arp.operation,
          .sender = sender,
          .sender_ipv4 = arp.sender_ipv4,
          .target = target,
          .target_ipv4 = arp.target_ipv4};
}

}  // namespace paravane::ipoib
