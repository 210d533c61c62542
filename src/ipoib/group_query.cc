#include "ipoib/group_query.h"

#include <array>
#include <cstring>
#include <span>

#include "ipoib/checksum.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::Ipv4Address;
using wire::infiniband::Ipv6Address;
using wire::roce::Ipv4Header;
using wire::roce::LongHeader;

constexpr std::uint8_t kRobustness = 2;
constexpr std::uint8_t kIntervalCode = kQueryInterval / std::chrono::seconds(1);
static_assert(kIntervalCode < 128, "greater ones are written with an exponent");

// In the units of IGMP, and of MLD.
constexpr std::uint8_t in_tenths(Duration time) {
  return static_cast<std::uint8_t>(time / std::chrono::milliseconds(100));
}
constexpr std::uint16_t in_milliseconds(Duration time) {
  return static_cast<std::uint16_t>(time / std::chrono::milliseconds(1));
}
static_assert(kQueryResponse / std::chrono::milliseconds(100) < 128);
static_assert(kQueryResponse / std::chrono::milliseconds(1) < 32768);

// With the option that has routers look at the packet (RFC 2113).
struct IgmpQuery {
  Ipv4Header ip;
  std::array<std::uint8_t, 4> router_alert{0x94, 4, 0, 0};
  std::uint8_t type = 0x11;
  std::uint8_t response = 0;
  Be16 checksum;
  Ipv4Address group{};
  std::uint8_t robustness = kRobustness;
  std::uint8_t interval = kIntervalCode;
  Be16 sources;
};
static_assert(sizeof(IgmpQuery) == 36);

// The same of IPv6 (RFC 2711): a header of hop-by-hop options, padded.
struct MldQuery {
  LongHeader ip;
  std::array<std::uint8_t, 8> router_alert{58, 0, 5, 2, 0, 0, 1, 0};
  std::uint8_t type = 130;
  std::uint8_t code = 0;
  Be16 checksum;
  Be16 response;
  Be16 reserved;
  Ipv6Address group{};
  std::uint8_t robustness = kRobustness;
  std::uint8_t interval = kIntervalCode;
  Be16 sources;
};
static_assert(sizeof(MldQuery) == 76);

template <typename Packet>
std::vector<std::byte> bytes_of_packet(const Packet& packet) {
  const auto bytes = std::as_bytes(std::span(&packet, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::byte> igmp_query(const std::optional<Ipv4Address>& group) {
  IgmpQuery query;
  query.ip.version_length = 0x46;
  query.ip.type_of_service = 0xC0;  // of control (RFC 3376, 4)
  query.ip.total_length.set(sizeof query);
  query.ip.time_to_live = 1;
  query.ip.protocol = ip_protocol::kIgmp;
  query.ip.destination = group.value_or(kAllHosts);
  query.response = in_tenths(group ? kLastResponse : kQueryResponse);
  query.group = group.value_or(Ipv4Address{});
  const auto bytes = std::as_bytes(std::span(&query, 1));
  constexpr std::size_t kHeaders = sizeof(Ipv4Header) + sizeof query.router_alert;
  query.ip.checksum.set(checksum_of(bytes.first(kHeaders)));
  query.checksum.set(checksum_of(bytes.subspan(kHeaders)));
  return bytes_of_packet(query);
}

std::vector<std::byte> mld_query(const Ipv6Address& source,
                                 const std::optional<Ipv6Address>& group) {
  MldQuery query;
  query.ip.version_class_flow.set(6U << 28);
  query.ip.payload_length.set(sizeof query - sizeof query.ip);
  query.ip.next_header = 0;
  query.ip.hop_limit = 1;
  query.ip.source = source;
  query.ip.destination = group.value_or(kAllNodes);
  query.response.set(in_milliseconds(group ? kLastResponse : kQueryResponse));
  query.group = group.value_or(Ipv6Address{});
  const auto message =
      std::as_bytes(std::span(&query, 1)).subspan(sizeof query.ip + sizeof query.router_alert);
  query.checksum.set(icmpv6_checksum(query.ip.source, query.ip.destination, message));
  return bytes_of_packet(query);
}

}  // namespace paravane::ipoib
