#include "ipoib/group_name.h"

#include "wire/roce/header_at.h"

namespace paravane::ipoib {

using wire::infiniband::is_group;

std::optional<IpGroup> group_of(std::span<const std::byte> packet) {
  if (packet.empty()) return std::nullopt;
  const unsigned version = std::to_integer<unsigned>(packet.front()) >> 4;
  if (version == 4 && packet.size() >= sizeof(wire::roce::Ipv4Header)) {
    const auto header = wire::roce::header_at<wire::roce::Ipv4Header>(packet);
    if (is_group(header.destination)) return header.destination;
  }
  if (version == 6 && packet.size() >= sizeof(wire::roce::LongHeader)) {
    const auto header = wire::roce::header_at<wire::roce::LongHeader>(packet);
    if (is_group(header.destination)) return header.destination;
  }
  return std::nullopt;
}

}  // namespace paravane::ipoib
