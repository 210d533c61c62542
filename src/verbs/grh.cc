#include "verbs/grh.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/wire_int.h"

namespace paravane::verbs {
namespace {

constexpr std::uint8_t kNextHeaderIba = 0x1B;
constexpr std::uint8_t kProtocolUdp = 17;

// What follows the network header of a datagram on the wire.
constexpr std::uint32_t kUdpHeaderBytes = 8;
constexpr std::uint32_t kBthBytes = 12;
constexpr std::uint32_t kDethBytes = 8;
constexpr std::uint32_t kImmediateBytes = 4;
constexpr std::uint32_t kIcrcBytes = 4;

// An InfiniBand GRH and an IPv6 header have the same shape.
struct LongHeader {
  Be32 version_class_flow;
  Be16 payload_length;
  std::uint8_t next_header = 0;
  std::uint8_t hop_limit = 0;
  Gid sgid;
  Gid dgid;
};
static_assert(sizeof(LongHeader) == kGrhBytes);

struct Ipv4Header {
  std::array<std::uint8_t, 20> zero{};
  std::uint8_t version_length = 0x45;
  std::uint8_t type_of_service = 0;
  Be16 total_length;
  Be16 identification;
  Be16 flags_fragment{0x4000};  // do not fragment
  std::uint8_t time_to_live = 0;
  std::uint8_t protocol = kProtocolUdp;
  Be16 checksum;
  std::array<std::uint8_t, 4> source{};
  std::array<std::uint8_t, 4> destination{};
};
static_assert(sizeof(Ipv4Header) == kGrhBytes);

std::uint32_t transport_bytes(std::uint32_t payload_bytes, bool with_imm) {
  const std::uint32_t padded = (payload_bytes + 3) & ~3u;
  return kBthBytes + kDethBytes + (with_imm ? kImmediateBytes : 0) + padded + kIcrcBytes;
}

// RFC 1071, over the header with a zero checksum field.
std::uint16_t ipv4_checksum(const Ipv4Header& header) {
  const auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof(Ipv4Header)>>(header);
  std::uint32_t sum = 0;
  for (std::size_t i = 20; i < bytes.size(); i += 2) {
    sum += static_cast<std::uint32_t>(bytes[i] << 8) + bytes[i + 1];
  }
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::array<std::uint8_t, 4> ipv4_of(const Gid& gid) {
  std::array<std::uint8_t, 4> address{};
  std::copy_n(gid.raw.begin() + 12, 4, address.begin());
  return address;
}

}  // namespace

bool is_ipv4_mapped(const Gid& gid) {
  // In words: each datagram asks for both of its GIDs.
  constexpr Gid kAnyIpv4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}};
  using Words = std::array<std::uint32_t, 4>;
  const auto words = std::bit_cast<Words>(gid.raw);
  const auto wanted = std::bit_cast<Words>(kAnyIpv4.raw);
  return words[0] == wanted[0] && words[1] == wanted[1] && words[2] == wanted[2];
}

bool is_multicast(const Gid& gid) {
  return gid.raw[0] == 0xFF || (is_ipv4_mapped(gid) && (gid.raw[12] & 0xF0) == 0xE0);
}

NetworkHeader network_header_of(GidType type, const Gid& sgid, const Gid& dgid) {
  if (type == GidType::kRoceV1) return NetworkHeader::kRoceV1;
  return is_ipv4_mapped(sgid) && is_ipv4_mapped(dgid) ? NetworkHeader::kIpv4 : NetworkHeader::kIpv6;
}

GrhArea build_grh(GidType type, const Gid& sgid, const AddressVector& av,
                  std::uint32_t payload_bytes, bool with_imm) {
  const NetworkHeader kind = network_header_of(type, sgid, av.dgid);
  const std::uint32_t transport = transport_bytes(payload_bytes, with_imm);
  if (kind == NetworkHeader::kIpv4) {
    Ipv4Header header;
    header.type_of_service = av.traffic_class;
    header.total_length.set(static_cast<std::uint16_t>(20 + kUdpHeaderBytes + transport));
    header.time_to_live = av.hop_limit;
    header.source = ipv4_of(sgid);
    header.destination = ipv4_of(av.dgid);
    header.checksum.set(ipv4_checksum(header));
    return std::bit_cast<GrhArea>(header);
  }
  const bool is_v1 = kind == NetworkHeader::kRoceV1;
  LongHeader header;
  header.version_class_flow.set((6u << 28) | (std::uint32_t{av.traffic_class} << 20) |
                                (av.flow_label & 0xFFFFF));
  header.payload_length.set(
      static_cast<std::uint16_t>(is_v1 ? transport : kUdpHeaderBytes + transport));
  header.next_header = is_v1 ? kNextHeaderIba : kProtocolUdp;
  header.hop_limit = av.hop_limit;
  header.sgid = sgid;
  header.dgid = av.dgid;
  return std::bit_cast<GrhArea>(header);
}

}  // namespace paravane::verbs
