#include "ipoib/neighbour_discovery.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ipoib/checksum.h"
#include "ipoib/ip_packet.h"
#include "wire/roce/header_at.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::kMostIpBytes;
using wire::roce::header_at;
using wire::roce::LongHeader;

// Messages (RFC 4861, 4.1 to 4.5), and where their options begin.
constexpr std::uint8_t kRouterSolicitation = 133;
constexpr std::uint8_t kRouterAdvertisement = 134;
constexpr std::uint8_t kNeighbourSolicitation = 135;
constexpr std::uint8_t kNeighbourAdvertisement = 136;
constexpr std::uint8_t kRedirect = 137;

constexpr std::uint8_t kHopLimit = 255;

struct MessageHeader {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  Be16 checksum;
};
static_assert(sizeof(MessageHeader) == 4);

struct OptionHeader {
  std::uint8_t type = 0;
  std::uint8_t length = 0;  // of all of the option, in units of 8
};
constexpr std::uint8_t kSourceAddress = 1;
constexpr std::uint8_t kTargetAddress = 2;

// The link-layer address options of both links (RFC 2464, 6; RFC 4391, 9.3).
struct MacOption {
  using Address = MacBytes;
  OptionHeader header{.length = 1};
  MacBytes address{};
};
static_assert(sizeof(MacOption) == 8);
struct IpoibOption {
  using Address = IpoibAddress;
  OptionHeader header{.length = 3};
  Be16 reserved;
  IpoibAddress address{};
};
static_assert(sizeof(IpoibOption) == 24);

std::unexpected<DiscoveryRefusal> refuse(DiscoveryRefusal why) {
  return std::unexpected(why);
}

bool is_discovery(std::uint8_t type) {
  return type >= kRouterSolicitation && type <= kRedirect;
}

std::size_t options_at(std::uint8_t type) {
  switch (type) {
    case kRouterSolicitation: return 8;
    case kRouterAdvertisement: return 16;
    case kNeighbourSolicitation:
    case kNeighbourAdvertisement: return 24;
    default: return 40;  // kRedirect
  }
}

DiscoveryKind kind_of(const Ipv6Packet& packet) {
  const auto layer = upper_layer_of(packet);
  if (!layer) {
    // What a later fragment belongs to is decided by the first. Headers that go on into the next
    // fragment may lead to anything (RFC 7112).
    return layer.error() == NoUpperLayer::kLaterFragment ? DiscoveryKind::kNone
                                                         : DiscoveryKind::kHidden;
  }
  if (layer->protocol != ip_protocol::kIcmpv6) return DiscoveryKind::kNone;
  if (layer->payload.empty()) return DiscoveryKind::kHidden;
  if (!is_discovery(std::to_integer<std::uint8_t>(layer->payload.front())))
    return DiscoveryKind::kNone;
  return layer->is_first ? DiscoveryKind::kPlain : DiscoveryKind::kHidden;
}

// Appends the options of a message with other addresses. `To`: the option of the other link.
template <typename From, typename To, typename Mapping>
std::optional<DiscoveryRefusal> translate_options(std::span<const std::byte> options,
                                                  const Mapping& mapping,
                                                  std::vector<std::byte>& out) {
  const auto append = [&out](std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  for (std::size_t addresses = 0; !options.empty();) {
    if (options.size() < sizeof(OptionHeader)) return DiscoveryRefusal::kOption;
    const auto header = header_at<OptionHeader>(options);
    const std::size_t bytes = std::size_t{header.length} * 8;
    if (bytes == 0 || bytes > options.size()) return DiscoveryRefusal::kOption;
    if (header.type == kSourceAddress || header.type == kTargetAddress) {
      if (bytes != sizeof(From)) return DiscoveryRefusal::kOption;
      if (++addresses > kMostLinkAddresses) return DiscoveryRefusal::kTooMany;
      const auto address = mapping(header_at<From>(options).address);
      if (!address) return DiscoveryRefusal::kUnknown;
      To option;
      option.header.type = header.type;
      option.address = *address;
      append(std::as_bytes(std::span(&option, 1)));
    } else {
      append(options.first(bytes));
    }
    options = options.subspan(bytes);
  }
  return std::nullopt;
}

template <typename From, typename To, typename Mapping>
std::expected<std::vector<std::byte>, DiscoveryRefusal> translate(std::span<const std::byte> bytes,
                                                                  const Mapping& mapping) {
  const auto packet = read_ipv6(bytes);
  if (!packet || kind_of(*packet) != DiscoveryKind::kPlain)
    return refuse(DiscoveryRefusal::kNotPlain);
  const auto& [header, whole, message] = *packet;
  if (header.hop_limit != kHopLimit) return refuse(DiscoveryRefusal::kHopLimit);
  const std::size_t before_options = options_at(std::to_integer<std::uint8_t>(message.front()));
  if (message.size() < before_options) return refuse(DiscoveryRefusal::kShort);
  if (header_at<MessageHeader>(message).code != 0) return refuse(DiscoveryRefusal::kCode);
  if (icmpv6_checksum(header.source, header.destination, message) != 0)
    return refuse(DiscoveryRefusal::kChecksum);

  std::vector<std::byte> out;
  out.reserve(whole.size() + 2 * sizeof(To));
  const auto unchanged = whole.first(sizeof(LongHeader) + before_options);
  out.assign(unchanged.begin(), unchanged.end());
  const auto refusal = translate_options<From, To>(message.subspan(before_options), mapping, out);
  if (refusal) return refuse(*refusal);
  if (out.size() > kMostIpBytes) return refuse(DiscoveryRefusal::kLong);

  const std::span written = std::span(out).subspan(sizeof(LongHeader));
  const Be16 length(static_cast<std::uint16_t>(written.size()));
  std::memcpy(&out[offsetof(LongHeader, payload_length)], &length, sizeof length);
  std::byte* const checksum = &written[offsetof(MessageHeader, checksum)];
  std::fill_n(checksum, sizeof(Be16), std::byte{0});
  const Be16 sum(icmpv6_checksum(header.source, header.destination, written));
  std::memcpy(checksum, &sum, sizeof sum);
  return out;
}

}  // namespace

DiscoveryKind discovery_kind(std::span<const std::byte> packet) {
  const auto read = read_ipv6(packet);
  return read ? kind_of(*read) : DiscoveryKind::kHidden;
}

std::expected<std::vector<std::byte>, DiscoveryRefusal> discovery_to_infiniband(
    std::span<const std::byte> packet, const AddressOfMac& address_of) {
  return translate<MacOption, IpoibOption>(packet, address_of);
}

std::expected<std::vector<std::byte>, DiscoveryRefusal> discovery_to_ethernet(
    std::span<const std::byte> packet, const MacOfAddress& mac_of) {
  return translate<IpoibOption, MacOption>(packet, mac_of);
}

}  // namespace paravane::ipoib
