#include "wire/roce/frame_network.h"

#include <algorithm>
#include <optional>

#include "wire/roce/header_at.h"

namespace paravane::wire::roce {
namespace {

using enum FrameFault;

// Extension headers of IPv6 that may stand in front of UDP (RFC 8200, 4).
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragmentHeader = 44;
constexpr std::uint8_t kDestinationOptions = 60;

constexpr GidBytes kMappedIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::size_t kMappedPrefixBytes = 12;

GidBytes mapped(const std::array<std::uint8_t, 4>& address) {
  GidBytes gid = kMappedIpv4;
  std::ranges::copy(address, gid.begin() + kMappedPrefixBytes);
  return gid;
}

bool is_mapped(const GidBytes& gid) {
  return std::equal(gid.begin(), gid.begin() + kMappedPrefixBytes, kMappedIpv4.begin());
}

// What follows the Ethernet header and the tag.
struct EthernetPayload {
  std::span<const std::byte> bytes;
  bool may_be_padded = false;

  // Whether a packet of this length is all there is, but for the padding of a short frame.
  bool is_long(std::size_t packet_bytes) const {
    return packet_bytes == bytes.size() || (packet_bytes < bytes.size() && may_be_padded);
  }
};

// In the place of UDP, `first_header` is an extension header of IPv6 or another protocol.
FrameFault fault_of(std::uint8_t first_header, std::span<const std::byte> rest) {
  const bool before_udp = !rest.empty() && std::to_integer<std::uint8_t>(rest[0]) == kProtocolUdp;
  if (!before_udp) return kNotRoce;
  switch (first_header) {
    case kFragmentHeader: return kFragment;
    case kHopByHop:
    case kRouting:
    case kDestinationOptions: return kIpOptions;
    default: return kNotRoce;
  }
}

// `following_bytes`: what the network header says of the bytes from the UDP header on.
std::optional<FrameFault> read_udp(std::size_t following_bytes, const UdpHeader& udp,
                                   Envelope& envelope) {
  if (following_bytes < sizeof(UdpHeader) || udp.length.get() != following_bytes) return kBadLength;
  envelope.route.udp_source_port = udp.source_port.get();
  return std::nullopt;
}

void split(std::span<const std::byte> packet, Envelope& envelope) {
  const std::size_t headers = network_bytes(envelope.route.network);
  envelope.network = packet.first(headers);
  envelope.transport = packet.subspan(headers);
}

std::optional<FrameFault> read_ipv4(const EthernetPayload& payload, Envelope& envelope) {
  if (payload.bytes.size() < sizeof(Ipv4Header)) return kTooShort;
  const auto ip = header_at<Ipv4Header>(payload.bytes);
  if (ip.version_length >> 4 != 4) return kBadIpVersion;
  if (ip.protocol != kProtocolUdp) return kNotRoce;
  const std::size_t words = ip.version_length & 0x0F;
  if (words * 4 != sizeof(Ipv4Header))
    return words * 4 < sizeof(Ipv4Header) ? kBadLength : kIpOptions;
  const std::uint16_t flags_fragment = ip.flags_fragment.get();
  if ((flags_fragment & ~kDoNotFragment) != 0) return kFragment;
  if (payload.bytes.size() < sizeof(Ipv4Header) + sizeof(UdpHeader)) return kTooShort;
  const auto udp = header_at<UdpHeader>(payload.bytes, sizeof(Ipv4Header));
  if (udp.destination_port.get() != kUdpPort) return kNotRoce;

  const std::size_t total = ip.total_length.get();
  if (total < sizeof(Ipv4Header) || !payload.is_long(total)) return kBadLength;
  if (const auto fault = read_udp(total - sizeof(Ipv4Header), udp, envelope)) return fault;
  if (checksum_of(ip) != 0) return kBadChecksum;
  envelope.route.network = Network::kV2Ipv4;
  envelope.route.source = mapped(ip.source);
  envelope.route.destination = mapped(ip.destination);
  envelope.route.traffic_class = ip.type_of_service;
  envelope.route.hop_limit = ip.time_to_live;
  envelope.identification = ip.identification.get();
  envelope.may_be_fragmented = (flags_fragment & kDoNotFragment) == 0;
  split(payload.bytes.first(total), envelope);
  return std::nullopt;
}

// An IPv6 header or a GRH.
std::optional<FrameFault> read_long_header(Network network, const EthernetPayload& payload,
                                           Envelope& envelope) {
  if (payload.bytes.size() < sizeof(LongHeader)) return kTooShort;
  const auto header = header_at<LongHeader>(payload.bytes);
  const std::uint32_t first = header.version_class_flow.get();
  if (first >> 28 != 6) return kBadIpVersion;
  const auto rest = payload.bytes.subspan(sizeof(LongHeader));
  const std::size_t following = header.payload_length.get();
  if (network == Network::kV2Ipv6) {
    if (header.next_header != kProtocolUdp) return fault_of(header.next_header, rest);
    if (rest.size() < sizeof(UdpHeader)) return kTooShort;
    const auto udp = header_at<UdpHeader>(rest);
    if (udp.destination_port.get() != kUdpPort) return kNotRoce;
    if (const auto fault = read_udp(following, udp, envelope)) return fault;
  } else if (header.next_header != kNextHeaderIba) {
    return kNotRoce;
  }
  const std::size_t total = sizeof(LongHeader) + following;
  if (!payload.is_long(total)) return kBadLength;
  envelope.route.network = network;
  envelope.route.source = header.source;
  envelope.route.destination = header.destination;
  envelope.route.flow_label = first & kFlowLabelMask;
  envelope.route.traffic_class = static_cast<std::uint8_t>(first >> 20);
  envelope.route.hop_limit = header.hop_limit;
  split(payload.bytes.first(total), envelope);
  return std::nullopt;
}

// Whether one host can have this address. IPv4: RFC 1122, 3.2.1.3; others: RFC 4291, 2.5 to 2.7.
bool is_of_one_host(const GidBytes& gid) {
  if (is_mapped(gid)) {
    const std::uint8_t first = gid[kMappedPrefixBytes];
    return first != 0 && first != 127 && first < 224;
  }
  // Neither of the unspecified and the loopback address, nor multicast.
  return gid[0] != 0xFF &&
         (gid.back() > 1 || std::any_of(gid.begin(), gid.end() - 1, [](auto b) { return b != 0; }));
}

// An IPv4 address in an IPv6 header would pass for the same address over IPv4.
bool are_addresses_good(const Route& route) {
  const bool is_ipv6 = route.network == Network::kV2Ipv6;
  return (route.source_mac[0] & 1) == 0 && is_of_one_host(route.source) &&
         !(is_ipv6 && (is_mapped(route.source) || is_mapped(route.destination)));
}

}  // namespace

std::expected<Envelope, FrameFault> open_envelope(std::span<const std::byte> frame) {
  if (frame.size() < sizeof(EthernetHeader)) return std::unexpected(kTooShort);
  const auto ethernet = header_at<EthernetHeader>(frame);
  std::size_t headers = sizeof(EthernetHeader);
  std::uint16_t type = ethernet.type.get();
  std::size_t shortest = kMinFrameBytes;
  if (type == kEtherTypeVlan) {
    if (frame.size() < headers + sizeof(VlanTag)) return std::unexpected(kTooShort);
    const auto tag = header_at<VlanTag>(frame, headers);
    if ((tag.control.get() & kVlanMask) != 0) return std::unexpected(kNotRoce);
    type = tag.type.get();
    headers += sizeof(VlanTag);
    shortest += sizeof(VlanTag);  // a switch adds the tag to a frame that is padded already
  }
  const EthernetPayload payload{.bytes = frame.subspan(headers),
                                .may_be_padded = frame.size() <= shortest};
  std::expected<Envelope, FrameFault> envelope;
  envelope->route.source_mac = ethernet.source;
  envelope->route.destination_mac = ethernet.destination;
  std::optional<FrameFault> fault = kNotRoce;
  switch (type) {
    case kEtherTypeRoceV1: fault = read_long_header(Network::kV1, payload, *envelope); break;
    case kEtherTypeIpv4: fault = read_ipv4(payload, *envelope); break;
    case kEtherTypeIpv6: fault = read_long_header(Network::kV2Ipv6, payload, *envelope); break;
    default: break;
  }
  if (!fault && !are_addresses_good(envelope->route)) fault = kBadAddress;
  if (fault) return std::unexpected(*fault);
  return envelope;
}

}  // namespace paravane::wire::roce
