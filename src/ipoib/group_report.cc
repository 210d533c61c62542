#include "ipoib/group_report.h"

#include <optional>
#include <utility>

#include "ipoib/checksum.h"
#include "wire/roce/header_at.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::Ipv4Address;
using wire::infiniband::Ipv6Address;
using wire::roce::header_at;
using Kind = GroupMessage::Kind;

constexpr std::uint8_t kIgmpQuery = 0x11;
constexpr std::uint8_t kIgmpReport1 = 0x12;
constexpr std::uint8_t kIgmpReport2 = 0x16;
constexpr std::uint8_t kIgmpLeave = 0x17;
constexpr std::uint8_t kIgmpReport3 = 0x22;

constexpr std::uint8_t kMldQuery = 130;
constexpr std::uint8_t kMldReport1 = 131;
constexpr std::uint8_t kMldDone = 132;
constexpr std::uint8_t kMldReport2 = 143;

struct IgmpMessage {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  Be16 checksum;
  Ipv4Address group{};
};
static_assert(sizeof(IgmpMessage) == 8);
struct MldMessage {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  Be16 checksum;
  Be16 most_delay;
  Be16 reserved;
  Ipv6Address group{};
};
static_assert(sizeof(MldMessage) == 24);

// Of IGMPv3 and of MLDv2 (RFC 3376, 4.2; RFC 3810, 5.2).
struct ReportHeader {
  std::uint8_t type = 0;
  std::uint8_t reserved = 0;
  Be16 checksum;
  Be16 more_reserved;
  Be16 records;
};
static_assert(sizeof(ReportHeader) == 8);
struct RecordHeader {
  std::uint8_t type = 0;
  std::uint8_t more_words = 0;  // of 4 bytes, behind the sources
  Be16 sources;
};
static_assert(sizeof(RecordHeader) == 4);
constexpr std::uint8_t kIsInclude = 1;
constexpr std::uint8_t kIsExclude = 2;
constexpr std::uint8_t kToInclude = 3;
constexpr std::uint8_t kToExclude = 4;
constexpr std::uint8_t kAllowSources = 5;

// nullopt: the record leaves open whether the group is wanted.
std::optional<bool> is_wanted(const RecordHeader& record) {
  const bool has_sources = record.sources.get() != 0;
  switch (record.type) {
    case kIsExclude:
    case kToExclude: return true;
    case kIsInclude:
    case kToInclude: return has_sources;
    case kAllowSources: return has_sources ? std::optional(true) : std::nullopt;
    default: return std::nullopt;  // sources that are blocked, and what is not defined
  }
}

constexpr bool is_reported(const Ipv4Address& group) {
  return wire::infiniband::is_group(group) && group != kAllHosts;
}
constexpr bool is_reported(const Ipv6Address& group) {
  constexpr std::uint8_t kInterfaceLocal = 1;
  return wire::infiniband::is_group(group) && (group[1] & 0x0F) > kInterfaceLocal &&
         group != kAllNodes;
}

template <typename Address>
GroupMessage message_about(const Address& group, bool is_wanted) {
  if (!wire::infiniband::is_group(group)) return {.kind = Kind::kBad};
  GroupMessage message{.kind = Kind::kReport};
  if (is_reported(group)) message.news.push_back({.group = group, .is_wanted = is_wanted});
  return message;
}

template <typename Address>
GroupMessage read_records(std::span<const std::byte> bytes) {
  struct Record {
    RecordHeader header;
    Address group{};
  };
  if (bytes.size() < sizeof(ReportHeader)) return {.kind = Kind::kBad};
  GroupMessage message{.kind = Kind::kReport};
  const std::size_t records = header_at<ReportHeader>(bytes).records.get();
  bytes = bytes.subspan(sizeof(ReportHeader));
  for (std::size_t i = 0; i < records; ++i) {
    if (bytes.size() < sizeof(Record)) return {.kind = Kind::kBad};
    const auto record = header_at<Record>(bytes);
    const std::size_t length = sizeof record + record.header.sources.get() * sizeof(Address) +
                               std::size_t{record.header.more_words} * 4;
    if (bytes.size() < length || !wire::infiniband::is_group(record.group))
      return {.kind = Kind::kBad};
    bytes = bytes.subspan(length);
    const auto wanted = is_wanted(record.header);
    if (wanted && is_reported(record.group))
      message.news.push_back({.group = record.group, .is_wanted = *wanted});
  }
  return message;
}

bool is_link_local(const Ipv6Address& address) {
  return address[0] == 0xFE && (address[1] & 0xC0) == 0x80;
}

}  // namespace

GroupMessage read_igmp(std::span<const std::byte> ipv4_packet) {
  const auto packet = read_ipv4(ipv4_packet);
  if (!packet || packet->header.protocol != ip_protocol::kIgmp) return {};
  constexpr std::uint16_t kFragmentBits = 0x3FFF;  // its offset, or more of them
  const auto bytes = packet->payload;
  if ((packet->header.flags_fragment.get() & kFragmentBits) != 0 ||
      bytes.size() < sizeof(IgmpMessage) || checksum_of(bytes) != 0)
    return {.kind = Kind::kBad};
  const auto message = header_at<IgmpMessage>(bytes);
  switch (message.type) {
    case kIgmpQuery: return {.kind = message.group == Ipv4Address{} ? Kind::kQuery : Kind::kNone};
    case kIgmpReport1:
    case kIgmpReport2: return message_about(message.group, true);
    case kIgmpLeave: return message_about(message.group, false);
    case kIgmpReport3: return read_records<Ipv4Address>(bytes);
    default: return {};  // of routers
  }
}

GroupMessage read_mld(std::span<const std::byte> ipv6_packet) {
  const auto packet = read_ipv6(ipv6_packet);
  if (!packet) return {};
  const auto layer = upper_layer_of(*packet);
  if (!layer || layer->protocol != ip_protocol::kIcmpv6 || layer->payload.empty()) return {};
  const auto bytes = layer->payload;
  const auto type = std::to_integer<std::uint8_t>(bytes.front());
  if (type != kMldReport2 && (type < kMldQuery || type > kMldDone)) return {};
  const wire::roce::LongHeader& header = packet->header;
  // A node has no address yet when it reports the group of its first (RFC 3590).
  const bool is_of_link =
      is_link_local(header.source) || (header.source == Ipv6Address{} && type != kMldQuery);
  if (header.hop_limit != 1 || !is_of_link ||
      icmpv6_checksum(header.source, header.destination, bytes) != 0)
    return {.kind = Kind::kBad};
  if (type == kMldReport2) return read_records<Ipv6Address>(bytes);
  if (bytes.size() < sizeof(MldMessage)) return {.kind = Kind::kBad};
  const auto message = header_at<MldMessage>(bytes);
  if (type == kMldQuery)
    return {.kind = message.group == Ipv6Address{} ? Kind::kQuery : Kind::kNone};
  return message_about(message.group, type == kMldReport1);
}

}  // namespace paravane::ipoib
