// Frames of a hostile VM, and datagrams of a hostile node, at an uplink of IP over InfiniBand
// (ipoib_frames_script.h).
//
// What must hold besides the sanitizers: a frame that is read and written is the same; a packet
// that is translated there and back is the same, but for padding; no packet grows by more than its
// addresses, or beyond the link; a report of listeners names groups, no more than it has room for;
// discovery that is not translated is told as such; an answer to a
// packet that was too big is a right packet of its size, which gets no answer itself.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "fuzz_bytes.h"
#include "ipoib/arp.h"
#include "ipoib/checksum.h"
#include "ipoib/dhcp.h"
#include "ipoib/frame.h"
#include "ipoib/group_report.h"
#include "ipoib/ip_packet.h"
#include "ipoib/neighbour_discovery.h"
#include "ipoib/remote_mac.h"
#include "ipoib/too_big.h"
#include "ipoib_frames_script.h"
#include "promise.h"
#include "wire/roce/header_at.h"

namespace paravane::ipoib {
namespace {

using fake::require;
using wire::roce::header_at;
using wire::roce::Ipv4Header;
using wire::roce::LongHeader;

using Bytes = std::vector<std::byte>;

constexpr std::size_t kIcmpv6ChecksumAt = 2;  // and IGMP's

// Each MAC has an address, in whose GID it stands.
constexpr std::size_t kMacAt = 10;
IpoibAddress address_for(const MacBytes& mac) {
  IpoibAddress address{.flags = 0, .number = Be24(0x48), .gid = {0xFE, 0x80}};
  std::ranges::copy(mac, address.gid.begin() + kMacAt);
  return address;
}
std::optional<IpoibAddress> address_of(const MacBytes& mac) {
  if ((mac[0] & 1) != 0) return std::nullopt;
  return address_for(mac);
}
std::optional<MacBytes> mac_of(const IpoibAddress& address) {
  MacBytes mac{};
  std::copy(address.gid.begin() + kMacAt, address.gid.end(), mac.begin());
  return address_of(mac) == address ? std::optional(mac) : std::nullopt;
}

void put_word(std::span<std::byte> bytes, std::size_t at, std::size_t value) {
  const Be16 word(static_cast<std::uint16_t>(value));
  std::memcpy(bytes.subspan(at, sizeof word).data(), &word, sizeof word);
}

void mend_ipv4(std::span<std::byte> packet, std::uint8_t flags) {
  if (packet.size() < sizeof(Ipv4Header)) return;
  if ((flags & fake::kMendsLengths) != 0)
    put_word(packet, offsetof(Ipv4Header, total_length), packet.size());
  const std::size_t bytes = std::to_integer<std::size_t>(packet[0] & std::byte{0x0F}) * 4;
  if ((flags & fake::kMendsChecksums) == 0 || bytes < sizeof(Ipv4Header) || bytes > packet.size())
    return;
  put_word(packet, offsetof(Ipv4Header, checksum), 0);
  put_word(packet, offsetof(Ipv4Header, checksum), checksum_of(packet.first(bytes)));
  if (header_at<Ipv4Header>(packet).protocol != ip_protocol::kIgmp) return;
  const auto message = packet.subspan(bytes);
  if (message.size() < kIcmpv6ChecksumAt + sizeof(Be16)) return;
  put_word(message, kIcmpv6ChecksumAt, 0);
  put_word(message, kIcmpv6ChecksumAt, checksum_of(message));
}

void mend_ipv6(std::span<std::byte> packet, std::uint8_t flags) {
  if (packet.size() < sizeof(LongHeader)) return;
  if ((flags & fake::kMendsLengths) != 0)
    put_word(packet, offsetof(LongHeader, payload_length), packet.size() - sizeof(LongHeader));
  const auto header = header_at<LongHeader>(packet);
  const std::size_t following = header.payload_length.get();
  if ((flags & fake::kMendsChecksums) == 0 || following < kIcmpv6ChecksumAt + sizeof(Be16) ||
      following > packet.size() - sizeof(LongHeader)) {
    return;
  }
  const auto message = packet.subspan(sizeof(LongHeader), following);
  put_word(message, kIcmpv6ChecksumAt, 0);
  put_word(message, kIcmpv6ChecksumAt, icmpv6_checksum(header.source, header.destination, message));
}

void mend(std::uint16_t type, std::span<std::byte> packet, std::uint8_t flags) {
  if (type == wire::roce::kEtherTypeIpv4) mend_ipv4(packet, flags);
  if (type == wire::roce::kEtherTypeIpv6) mend_ipv6(packet, flags);
}

// ---- ARP ----

void check_ethernet_arp(std::span<const std::byte> packet) {
  const auto arp = read_ethernet_arp(packet);
  if (!arp) return;
  const auto there =
      infiniband_arp(to_infiniband(*arp, address_for(arp->sender), address_for(arp->target)));
  const auto read = read_infiniband_arp(there);
  require(read.has_value());
  require(read->sender == address_for(arp->sender));
  const auto back = ethernet_arp(to_ethernet(*read, arp->sender, arp->target));
  require(std::ranges::equal(back, packet.first(kEthernetArpBytes)));
}

void check_infiniband_arp(std::span<const std::byte> packet) {
  const auto arp = read_infiniband_arp(packet);
  if (!arp) return;
  const auto there = ethernet_arp(to_ethernet(*arp, {2, 0, 0, 0x48, 0, 7}, {}));
  const auto read = read_ethernet_arp(there);
  require(read.has_value());
  const auto back = infiniband_arp(to_infiniband(*read, arp->sender, arp->target));
  require(std::ranges::equal(back, packet));
}

// ---- Neighbour discovery ----

// What a translation there and back makes of a packet that was accepted: without padding, with the
// one checksum of two that is written, and with zeros in what InfiniBand's options reserve.
Bytes canonical(std::span<const std::byte> packet, bool is_from_infiniband) {
  const auto read = read_ipv6(packet);
  require(read.has_value());
  Bytes bytes(read->bytes.begin(), read->bytes.end());
  if (is_from_infiniband) {
    constexpr std::size_t kUnits[] = {1, 2, 3, 3, 5};  // before the options, from message 133 on
    const std::size_t message = std::to_integer<std::size_t>(read->payload.front());
    for (std::size_t at = sizeof(LongHeader) + 8 * kUnits[message - 133]; at < bytes.size();) {
      const auto type = std::to_integer<std::uint8_t>(bytes[at]);
      if (type == 1 || type == 2) put_word(bytes, at + 2, 0);
      at += std::to_integer<std::size_t>(bytes[at + 1]) * 8;
    }
  }
  mend_ipv6(bytes, fake::kMendsChecksums);
  return bytes;
}

void check_discovery(std::span<const std::byte> packet, bool is_from_infiniband) {
  const auto there = is_from_infiniband ? discovery_to_ethernet(packet, mac_of)
                                        : discovery_to_infiniband(packet, address_of);
  const bool is_plain = discovery_kind(packet) == DiscoveryKind::kPlain;
  require(is_plain == (there.has_value() || there.error() != DiscoveryRefusal::kNotPlain));
  if (!there) return;
  require(there->size() <= wire::infiniband::kMostIpBytes);
  require(there->size() <= packet.size() + 16 * kMostLinkAddresses);
  require(discovery_kind(*there) == DiscoveryKind::kPlain);
  const auto back = is_from_infiniband ? discovery_to_infiniband(*there, address_of)
                                       : discovery_to_ethernet(*there, mac_of);
  const Bytes expected = canonical(packet, is_from_infiniband);
  // What has shrunk may have been too long before.
  if (!back && back.error() == DiscoveryRefusal::kLong) {
    require(is_from_infiniband && expected.size() > wire::infiniband::kMostIpBytes);
    return;
  }
  require(back && *back == expected);
}

// ---- Listeners ----

void check_report(std::span<const std::byte> packet, const GroupMessage& message) {
  using Kind = GroupMessage::Kind;
  require(message.kind == Kind::kReport || message.news.empty());
  require(message.news.size() * 8 <= packet.size());
  for (const GroupNews& news : message.news) {
    constexpr std::uint16_t kPartition = 0x800A;
    const auto gid = std::visit(
        [](const auto& address) {
          require(wire::infiniband::is_group(address));
          return wire::infiniband::multicast_gid_of(address, kPartition);
        },
        news.group);
    require(gid_of(name_of(news.group), kPartition) == gid);
  }
}

// ---- IP ----

void check_ipv4(std::span<const std::byte> packet, std::uint16_t mtu) {
  const auto read = read_ipv4(packet);
  require(!is_dhcp_answer(packet) || (read && !read->is_later_fragment()));
  const auto answer = fragmentation_needed(packet, mtu);
  if (!answer) return;
  require(read && read->bytes.size() > mtu && !read->may_be_fragmented());
  const auto read_answer = read_ipv4(*answer);
  require(read_answer && read_answer->bytes.size() == answer->size());
  require(answer->size() <= 20 + 8 + 60 + 8);
  require(read_answer->header.destination == read->header.source);
  require(checksum_of(read_answer->payload) == 0);
  require(!fragmentation_needed(*answer, kLeastIpv4Mtu));
}

void check_ipv6(std::span<const std::byte> packet, std::uint32_t mtu) {
  const auto answer = packet_too_big(packet, mtu);
  if (!answer) return;
  const auto read = read_ipv6(packet);
  require(read && read->bytes.size() > mtu);
  const auto read_answer = read_ipv6(*answer);
  require(read_answer && read_answer->bytes.size() == answer->size());
  require(answer->size() <= kLeastIpv6Mtu);
  require(read_answer->header.destination == read->header.source);
  require(icmpv6_checksum(read_answer->header.source, read_answer->header.destination,
                          read_answer->payload) == 0);
}

void check_packet(std::uint16_t type, std::span<const std::byte> packet, bool is_from_infiniband,
                  std::uint16_t mtu) {
  switch (type) {
    case wire::infiniband::kEtherTypeArp:
    case wire::infiniband::kEtherTypeRarp:
      return is_from_infiniband ? check_infiniband_arp(packet) : check_ethernet_arp(packet);
    case wire::roce::kEtherTypeIpv4:
      check_report(packet, read_igmp(packet));
      return check_ipv4(packet, mtu);
    case wire::roce::kEtherTypeIpv6:
      check_report(packet, read_mld(packet));
      check_discovery(packet, is_from_infiniband);
      return check_ipv6(packet, mtu);
    default: return;
  }
}

void check_frame(Bytes& bytes, std::uint8_t flags, std::uint16_t mtu) {
  const auto frame = read_frame(bytes);
  if (!frame) return;
  mend(frame->type, std::span(bytes).last(frame->payload.size()), flags);
  Bytes written;
  write_frame(*frame, written);
  require(written == bytes);
  if (const auto remote = remote_queue_pair(frame->destination))
    require(remote_mac(*remote) == frame->destination);
  check_packet(frame->type, frame->payload, false, mtu);
}

void check_datagram(std::span<std::byte> payload, std::uint8_t flags, std::uint16_t mtu) {
  using wire::infiniband::EncapsulationHeader;
  if (payload.size() < sizeof(EncapsulationHeader)) return;
  const std::uint16_t type = header_at<EncapsulationHeader>(payload).type.get();
  const auto packet = payload.subspan(sizeof(EncapsulationHeader));
  mend(type, packet, flags);
  check_packet(type, packet, true, mtu);
}

}  // namespace
}  // namespace paravane::ipoib

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paravane;
  constexpr std::size_t kBefore = 3;
  if (size < kBefore) return 0;
  fake::FuzzBytes input(data, kBefore);
  const std::uint8_t flags = input.u8();
  const std::uint16_t mtu = input.u16();
  const auto rest = std::as_bytes(std::span(data, size).subspan(kBefore));
  ipoib::Bytes bytes(rest.begin(), rest.end());  // its end is where reading must stop
  if ((flags & fake::kFromInfiniband) != 0)
    ipoib::check_datagram(bytes, flags, mtu);
  else
    ipoib::check_frame(bytes, flags, mtu);
  return 0;
}
