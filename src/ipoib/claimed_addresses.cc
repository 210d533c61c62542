#include "ipoib/claimed_addresses.h"

#include <cstdint>

#include "ipoib/arp.h"
#include "ipoib/checksum.h"
#include "ipoib/frame.h"
#include "ipoib/group_mac.h"
#include "ipoib/ip_packet.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::Ipv6Address;

// Of an IPv6 header, and of a neighbour advertisement behind it (RFC 4861, 4.4).
constexpr std::size_t kHeaderBytes = 40;
constexpr std::size_t kAdvertisementBytes = 32;
constexpr std::uint8_t kAdvertisement = 136;
constexpr std::size_t kTargetAt = 8;

void put_bytes(std::vector<std::byte>& bytes, std::span<const std::uint8_t> values) {
  for (const std::uint8_t value : values) bytes.push_back(std::byte(value));
}

std::vector<std::byte> frame_with(const MacBytes& to, const MacBytes& from, std::uint16_t type,
                                  std::span<const std::byte> packet) {
  std::vector<std::byte> bytes;
  write_frame({.destination = to, .source = from, .type = type, .payload = packet}, bytes);
  return bytes;
}

}  // namespace

std::optional<Ipv6Address> claimed_by_discovery(std::span<const std::byte> packet) {
  const auto read = read_ipv6(packet);
  if (!read || read->payload.size() < kTargetAt) return std::nullopt;
  const bool is_advertisement = std::to_integer<std::uint8_t>(read->payload[0]) == kAdvertisement;
  const std::size_t at = is_advertisement ? kHeaderBytes + kTargetAt : kTargetAt;
  Ipv6Address address{};
  if (packet.size() < at + address.size()) return std::nullopt;
  for (std::size_t i = 0; i < address.size(); ++i) {
    address[i] = std::to_integer<std::uint8_t>(packet[at + i]);
  }
  if (address == Ipv6Address{} || address[0] == 0xFF) return std::nullopt;
  return address;
}

std::vector<std::byte> claim_frame(const MacBytes& mac,
                                   const wire::infiniband::Ipv4Address& address) {
  const auto packet = ethernet_arp({.operation = ArpOperation::kRequest,
                                    .sender = mac,
                                    .sender_ipv4 = address,
                                    .target_ipv4 = address});
  return frame_with(kBroadcastMac, mac, wire::infiniband::kEtherTypeArp, packet);
}

std::vector<std::byte> claim_frame(const MacBytes& mac, const Ipv6Address& address) {
  std::vector<std::byte> message;
  put_bytes(message, std::array<std::uint8_t, 8>{kAdvertisement, 0, 0, 0, 0x20 /* override */});
  put_bytes(message, address);
  put_bytes(message, std::array<std::uint8_t, 2>{2, 1});  // target link-layer address, 8 bytes
  put_bytes(message, mac);
  const std::uint16_t sum = icmpv6_checksum(address, kAllNodes, message);
  message[2] = std::byte(sum >> 8);
  message[3] = std::byte(sum & 0xFF);
  std::vector<std::byte> packet;
  put_bytes(packet, std::array<std::uint8_t, 8>{0x60, 0, 0, 0, 0, kAdvertisementBytes,
                                                ip_protocol::kIcmpv6, 255});
  put_bytes(packet, address);
  put_bytes(packet, kAllNodes);
  packet.insert(packet.end(), message.begin(), message.end());
  return frame_with(mac_of_group(kAllNodes), mac, wire::roce::kEtherTypeIpv6, packet);
}

}  // namespace paravane::ipoib
