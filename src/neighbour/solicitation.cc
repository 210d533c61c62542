#include "neighbour/solicitation.h"

#include <algorithm>
#include <cstring>

#include "ipoib/checksum.h"
#include "ipoib/ip_packet.h"
#include "wire/roce/header_at.h"

namespace paravane::neighbour {
namespace {

using wire::roce::header_at;
using wire::roce::LongHeader;

constexpr std::uint8_t kSolicitation = 135;
constexpr std::uint8_t kAdvertisement = 136;
constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint32_t kVersion6 = 0x6000'0000;
constexpr std::uint32_t kSolicited = 0x4000'0000;  // flags of an advertisement
constexpr std::uint32_t kOverride = 0x2000'0000;
constexpr std::uint8_t kSourceMac = 1;  // types of options
constexpr std::uint8_t kTargetMac = 2;

struct MessageHead {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  Be16 checksum{};
  Be32 flags{};
  Address target{};
};
static_assert(sizeof(MessageHead) == 24);

struct MacOption {
  std::uint8_t type = 0;
  std::uint8_t length = 1;  // in units of 8 bytes
  MacBytes mac{};
};
static_assert(sizeof(MacOption) == 8);

constexpr Address kAllNodes{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

Address solicited_node_of(const Address& target) {
  Address group{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF};
  std::copy(target.end() - 3, target.end(), group.end() - 3);
  return group;
}

MacBytes mac_of_group(const Address& group) {
  return {0x33, 0x33, group[12], group[13], group[14], group[15]};
}

struct Received {
  LongHeader header;
  MessageHead head;
  std::span<const std::byte> options;
};

bool are_whole(std::span<const std::byte> options) {
  while (!options.empty()) {
    if (options.size() < 2) return false;
    const std::size_t bytes = std::to_integer<std::size_t>(options[1]) * 8;
    if (bytes == 0 || bytes > options.size()) return false;
    options = options.subspan(bytes);
  }
  return true;
}

std::optional<Received> read(const ipoib::EthernetFrame& frame, std::uint8_t type) {
  if (frame.type != wire::roce::kEtherTypeIpv6) return std::nullopt;
  const auto packet = ipoib::read_ipv6(frame.payload);
  if (!packet || packet->header.next_header != ipoib::ip_protocol::kIcmpv6 ||
      packet->header.hop_limit != kHopLimit || packet->payload.size() < sizeof(MessageHead)) {
    return std::nullopt;
  }
  Received received{.header = packet->header,
                    .head = header_at<MessageHead>(packet->payload),
                    .options = packet->payload.subspan(sizeof(MessageHead))};
  const bool is_good = received.head.type == type && received.head.code == 0 &&
                       received.head.target[0] != 0xFF && are_whole(received.options) &&
                       ipoib::icmpv6_checksum(received.header.source, received.header.destination,
                                              packet->payload) == 0;
  if (!is_good) return std::nullopt;
  return received;
}

std::vector<std::byte> write(const MacBytes& to_mac, const Station& from,
                             const Address& destination, MessageHead head, MacOption option) {
  std::vector<std::byte> message(sizeof head + sizeof option);
  const auto put = [&] {
    std::memcpy(message.data(), &head, sizeof head);
    std::memcpy(message.data() + sizeof head, &option, sizeof option);
  };
  put();
  head.checksum.set(ipoib::icmpv6_checksum(from.link_local, destination, message));
  put();
  LongHeader header;
  header.version_class_flow.set(kVersion6);
  header.payload_length.set(static_cast<std::uint16_t>(message.size()));
  header.next_header = ipoib::ip_protocol::kIcmpv6;
  header.hop_limit = kHopLimit;
  header.source = from.link_local;
  header.destination = destination;
  const auto bytes = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> packet(bytes.begin(), bytes.end());
  packet.insert(packet.end(), message.begin(), message.end());
  std::vector<std::byte> frame;
  ipoib::write_frame({.destination = to_mac,
                      .source = from.mac,
                      .type = wire::roce::kEtherTypeIpv6,
                      .payload = packet},
                     frame);
  return frame;
}

}  // namespace

std::optional<Solicitation> read_solicitation(const ipoib::EthernetFrame& frame) {
  const auto received = read(frame, kSolicitation);
  if (!received) return std::nullopt;
  return Solicitation{.source = received->header.source, .target = received->head.target};
}

std::optional<Advertisement> read_advertisement(const ipoib::EthernetFrame& frame) {
  const auto received = read(frame, kAdvertisement);
  if (!received) return std::nullopt;
  Advertisement told{.target = received->head.target};
  for (auto rest = received->options; !rest.empty();) {
    const std::size_t bytes = std::to_integer<std::size_t>(rest[1]) * 8;
    if (std::to_integer<std::uint8_t>(rest[0]) == kTargetMac && bytes == sizeof(MacOption)) {
      told.mac = header_at<MacOption>(rest).mac;
    }
    rest = rest.subspan(bytes);
  }
  return told;
}

std::vector<std::byte> solicitation_of(const Station& from, const Address& target) {
  const Address group = solicited_node_of(target);
  return write(mac_of_group(group), from, group, {.type = kSolicitation, .target = target},
               {.type = kSourceMac, .mac = from.mac});
}

std::vector<std::byte> advertisement_of(const Station& from, const Solicitation& asker,
                                        const MacBytes& to) {
  MessageHead head{.type = kAdvertisement, .target = from.link_local};
  head.flags.set(asker.is_probe() ? kOverride : kSolicited | kOverride);
  const MacOption option{.type = kTargetMac, .mac = from.mac};
  if (asker.is_probe()) return write(mac_of_group(kAllNodes), from, kAllNodes, head, option);
  return write(to, from, asker.source, head, option);
}

}  // namespace paravane::neighbour
