#include "ipoib/too_big.h"

#include <algorithm>
#include <cstring>

#include "ipoib/checksum.h"
#include "ipoib/ip_packet.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::Ipv4Address;
using wire::infiniband::Ipv6Address;
using wire::roce::Ipv4Header;
using wire::roce::LongHeader;

struct ErrorHeader {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  Be16 checksum{};
  Be32 mtu{};  // of IPv4: its lower half (RFC 1191, 4)
};
static_assert(sizeof(ErrorHeader) == 8);

constexpr std::uint8_t kUnreachable = 3;
constexpr std::uint8_t kFragmentationNeeded = 4;
constexpr std::uint8_t kPacketTooBig = 2;
// Types below are errors of ICMPv6.
constexpr std::uint8_t kFirstInformation = 128;
constexpr std::uint8_t kRedirection = 137;

constexpr std::uint8_t kInternetworkControl = 0xC0;  // RFC 1812, 4.3.2.5
constexpr std::uint8_t kTimeToLive = 64;
constexpr std::size_t kQuotedBytes = 8;  // behind the header (RFC 792)

// Whether it is an ICMP error, or its type is not there (RFC 1122, 3.2.2).
bool may_be_error(const Ipv4Packet& packet) {
  if (packet.header.protocol != ip_protocol::kIcmp) return false;
  if (packet.payload.empty()) return true;
  switch (std::to_integer<std::uint8_t>(packet.payload.front())) {
    case 3:   // destination unreachable
    case 4:   // source quench
    case 5:   // redirect
    case 11:  // time exceeded
    case 12:  // parameter problem
      return true;
    default: return false;
  }
}

// RFC 4443, 2.4 (e).
bool may_be_error(const Ipv6Packet& packet) {
  const auto layer = upper_layer_of(packet);
  if (!layer) return true;
  if (layer->protocol != ip_protocol::kIcmpv6) return false;
  if (layer->payload.empty()) return true;
  const auto type = std::to_integer<std::uint8_t>(layer->payload.front());
  return type < kFirstInformation || type == kRedirection;
}

// Of one node, and not of the sender's host alone (RFC 1122, 3.2.1.3).
bool is_of_node(const Ipv4Address& address) {
  constexpr std::uint8_t kLoopback = 127;
  constexpr std::uint8_t kFirstGroup = 224;  // and what is above: reserved, and the broadcast
  return address[0] != 0 && address[0] != kLoopback && address[0] < kFirstGroup;
}
// RFC 4291, 2.5.2, 2.5.3 and 2.7.
bool is_of_node(const Ipv6Address& address) {
  const bool is_low =
      std::all_of(address.begin(), address.end() - 1, [](std::uint8_t byte) { return byte == 0; });
  return !wire::infiniband::is_group(address) && !(is_low && address.back() <= 1);
}

template <typename T>
void put(std::vector<std::byte>& bytes, std::size_t at, const T& header) {
  std::memcpy(bytes.data() + at, &header, sizeof header);
}

// The answer's bytes with what it quotes; its two headers are zero.
std::vector<std::byte> with_quotation(std::size_t headers, std::span<const std::byte> quoted) {
  std::vector<std::byte> bytes(headers);
  bytes.insert(bytes.end(), quoted.begin(), quoted.end());
  return bytes;
}

}  // namespace

std::optional<std::vector<std::byte>> fragmentation_needed(std::span<const std::byte> packet,
                                                           std::uint16_t mtu) {
  const auto read = read_ipv4(packet);
  if (!read || mtu < kLeastIpv4Mtu || read->bytes.size() <= mtu || read->may_be_fragmented() ||
      read->is_later_fragment() || !is_of_node(read->header.source) ||
      !is_of_node(read->header.destination) || may_be_error(*read)) {
    return std::nullopt;
  }
  constexpr std::size_t kHeaders = sizeof(Ipv4Header) + sizeof(ErrorHeader);
  const std::size_t quoted = read->header_bytes() + std::min(kQuotedBytes, read->payload.size());
  std::vector<std::byte> answer = with_quotation(kHeaders, read->bytes.first(quoted));

  Ipv4Header header;
  header.type_of_service = kInternetworkControl;
  header.total_length.set(static_cast<std::uint16_t>(answer.size()));
  header.flags_fragment.set(wire::roce::kDoNotFragment);
  header.time_to_live = kTimeToLive;
  header.protocol = ip_protocol::kIcmp;
  header.source = read->header.destination;
  header.destination = read->header.source;
  header.checksum.set(wire::roce::checksum_of(header));
  put(answer, 0, header);
  ErrorHeader error{.type = kUnreachable, .code = kFragmentationNeeded, .mtu = Be32(mtu)};
  put(answer, sizeof header, error);
  error.checksum.set(checksum_of(std::span(answer).subspan(sizeof header)));
  put(answer, sizeof header, error);
  return answer;
}

std::optional<std::vector<std::byte>> packet_too_big(std::span<const std::byte> packet,
                                                     std::uint32_t mtu) {
  const auto read = read_ipv6(packet);
  if (!read || mtu < kLeastIpv6Mtu || read->bytes.size() <= mtu ||
      !is_of_node(read->header.source) || !is_of_node(read->header.destination) ||
      may_be_error(*read)) {
    return std::nullopt;
  }
  constexpr std::size_t kHeaders = sizeof(LongHeader) + sizeof(ErrorHeader);
  const std::size_t quoted = std::min(kLeastIpv6Mtu - kHeaders, read->bytes.size());
  std::vector<std::byte> answer = with_quotation(kHeaders, read->bytes.first(quoted));

  LongHeader header;
  header.version_class_flow.set(6U << 28);
  header.payload_length.set(static_cast<std::uint16_t>(answer.size() - sizeof header));
  header.next_header = ip_protocol::kIcmpv6;
  header.hop_limit = kTimeToLive;
  header.source = read->header.destination;
  header.destination = read->header.source;
  put(answer, 0, header);
  ErrorHeader error{.type = kPacketTooBig, .mtu = Be32(mtu)};
  put(answer, sizeof header, error);
  error.checksum.set(
      icmpv6_checksum(header.source, header.destination, std::span(answer).subspan(sizeof header)));
  put(answer, sizeof header, error);
  return answer;
}

}  // namespace paravane::ipoib
