#include "ipoib/frame.h"

#include <cassert>
#include <cstring>

#include "ipoib/group_mac.h"
#include "wire/roce/header_at.h"

namespace paravane::ipoib {
namespace {

using wire::roce::EthernetHeader;
using wire::roce::header_at;
using wire::roce::kEtherTypeVlan;
using wire::roce::VlanTag;

constexpr std::uint16_t kEtherTypeServiceVlan = 0x88A8;  // IEEE 802.1ad
constexpr std::uint16_t kEtherTypeOldServiceVlan = 0x9100;
constexpr std::uint16_t kReservedVlan = 0x0FFF;
constexpr std::uint16_t kMayBeDropped = 0x1000;
constexpr unsigned kPriorityShift = 13;

bool is_tag(std::uint16_t type) {
  return type == kEtherTypeVlan || type == kEtherTypeServiceVlan ||
         type == kEtherTypeOldServiceVlan;
}

}  // namespace

std::expected<EthernetFrame, FrameRefusal> read_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(EthernetHeader)) return std::unexpected(FrameRefusal::kShort);
  const auto header = header_at<EthernetHeader>(bytes);
  if (!is_station_mac(header.source)) return std::unexpected(FrameRefusal::kSource);
  EthernetFrame frame{.destination = header.destination,
                      .source = header.source,
                      .type = header.type.get(),
                      .payload = bytes.subspan(sizeof header)};
  if (frame.type == kEtherTypeVlan) {
    if (frame.payload.size() < sizeof(VlanTag)) return std::unexpected(FrameRefusal::kShort);
    const auto tag = header_at<VlanTag>(frame.payload);
    const std::uint16_t control = tag.control.get();
    frame.vlan = Vlan{.number = static_cast<std::uint16_t>(control & wire::roce::kVlanMask),
                      .priority = static_cast<std::uint8_t>(control >> kPriorityShift),
                      .may_be_dropped = (control & kMayBeDropped) != 0};
    if (frame.vlan->number == kReservedVlan) return std::unexpected(FrameRefusal::kVlan);
    frame.type = tag.type.get();
    frame.payload = frame.payload.subspan(sizeof tag);
  }
  if (is_tag(frame.type)) return std::unexpected(FrameRefusal::kTags);
  return frame;
}

void write_frame(const EthernetFrame& frame, std::vector<std::byte>& bytes) {
  const std::size_t headers = sizeof(EthernetHeader) + (frame.vlan ? sizeof(VlanTag) : 0);
  bytes.resize(headers + frame.payload.size());
  const EthernetHeader header{.destination = frame.destination,
                              .source = frame.source,
                              .type = Be16(frame.vlan ? kEtherTypeVlan : frame.type)};
  std::memcpy(bytes.data(), &header, sizeof header);
  if (frame.vlan) {
    assert(frame.vlan->number < kReservedVlan && frame.vlan->priority < 8);
    const VlanTag tag{.control = Be16(static_cast<std::uint16_t>(
                          (frame.vlan->priority << kPriorityShift) |
                          (frame.vlan->may_be_dropped ? kMayBeDropped : 0) | frame.vlan->number)),
                      .type = Be16(frame.type)};
    std::memcpy(bytes.data() + sizeof header, &tag, sizeof tag);
  }
  if (!frame.payload.empty())
    std::memcpy(bytes.data() + headers, frame.payload.data(), frame.payload.size());
}

}  // namespace paravane::ipoib
