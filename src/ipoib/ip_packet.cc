#include "ipoib/ip_packet.h"

#include "ipoib/checksum.h"
#include "wire/roce/header_at.h"

namespace paravane::ipoib {
namespace {

using wire::roce::header_at;
using wire::roce::Ipv4Header;
using wire::roce::LongHeader;

// Extension headers (RFC 8200, 4; RFC 4302; RFC 7045, 4): all but two have their length in their
// second byte, in units of 8 without the first.
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kAuthentication = 51;
constexpr std::uint8_t kDestinationOptions = 60;
constexpr std::uint8_t kMobility = 135;
constexpr std::uint8_t kHostIdentity = 139;
constexpr std::uint8_t kShim = 140;

struct ExtensionHeader {
  std::uint8_t next = 0;
  std::uint8_t length = 0;
  Be16 offset_more;  // of a fragment: its offset 13 bits, reserved 2, more fragments 1
  Be32 rest;
};
static_assert(sizeof(ExtensionHeader) == 8);
constexpr unsigned kOffsetShift = 3;

bool is_extension(std::uint8_t protocol) {
  switch (protocol) {
    case kHopByHop:
    case kRouting:
    case kFragment:
    case kAuthentication:
    case kDestinationOptions:
    case kMobility:
    case kHostIdentity:
    case kShim: return true;
    default: return false;
  }
}

std::size_t bytes_of(std::uint8_t protocol, const ExtensionHeader& header) {
  if (protocol == kFragment) return sizeof(ExtensionHeader);
  if (protocol == kAuthentication) return (std::size_t{header.length} + 2) * 4;
  return (std::size_t{header.length} + 1) * 8;
}

}  // namespace

std::optional<Ipv4Packet> read_ipv4(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Ipv4Header)) return std::nullopt;
  const auto header = header_at<Ipv4Header>(bytes);
  const std::size_t header_bytes = std::size_t{header.version_length & 0x0FU} * 4;
  const std::size_t total = header.total_length.get();
  if (header.version_length >> 4 != 4 || header_bytes < sizeof(Ipv4Header) ||
      total < header_bytes || total > bytes.size() || checksum_of(bytes.first(header_bytes)) != 0) {
    return std::nullopt;
  }
  return Ipv4Packet{.header = header,
                    .bytes = bytes.first(total),
                    .payload = bytes.first(total).subspan(header_bytes)};
}

std::optional<Ipv6Packet> read_ipv6(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(LongHeader)) return std::nullopt;
  const auto header = header_at<LongHeader>(bytes);
  const std::size_t following = header.payload_length.get();
  if (header.version_class_flow.get() >> 28 != 6 || following == 0 ||
      following > bytes.size() - sizeof(LongHeader)) {
    return std::nullopt;
  }
  return Ipv6Packet{.header = header,
                    .bytes = bytes.first(sizeof(LongHeader) + following),
                    .payload = bytes.subspan(sizeof(LongHeader), following)};
}

std::expected<UpperLayer, NoUpperLayer> upper_layer_of(const Ipv6Packet& packet) {
  UpperLayer layer{
      .protocol = packet.header.next_header, .is_first = true, .payload = packet.payload};
  while (is_extension(layer.protocol)) {
    if (layer.payload.size() < sizeof(ExtensionHeader))
      return std::unexpected(NoUpperLayer::kShort);
    const auto header = header_at<ExtensionHeader>(layer.payload);
    const std::size_t bytes = bytes_of(layer.protocol, header);
    if (bytes > layer.payload.size()) return std::unexpected(NoUpperLayer::kShort);
    if (layer.protocol == kFragment && header.offset_more.get() >> kOffsetShift != 0)
      return std::unexpected(NoUpperLayer::kLaterFragment);
    layer = {.protocol = header.next, .is_first = false, .payload = layer.payload.subspan(bytes)};
  }
  return layer;
}

}  // namespace paravane::ipoib
