#include "ipoib/dhcp.h"

#include "ipoib/ip_packet.h"
#include "wire/roce/header_at.h"

namespace paravane::ipoib {
namespace {

using wire::roce::UdpHeader;

constexpr std::uint16_t kServerPort = 67;
constexpr std::uint16_t kClientPort = 68;
constexpr std::byte kReply{2};  // the first byte of a message (RFC 2131, 2)

}  // namespace

bool is_dhcp_answer(std::span<const std::byte> ipv4_packet) {
  const auto packet = read_ipv4(ipv4_packet);
  if (!packet || packet->header.protocol != ip_protocol::kUdp || packet->is_later_fragment() ||
      packet->payload.size() <= sizeof(UdpHeader)) {
    return false;
  }
  const auto udp = wire::roce::header_at<UdpHeader>(packet->payload);
  return udp.source_port.get() == kServerPort && udp.destination_port.get() == kClientPort &&
         packet->payload[sizeof(UdpHeader)] == kReply;
}

}  // namespace paravane::ipoib
