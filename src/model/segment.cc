#include "model/segment.h"

namespace paravane::model {
namespace {

// FNV-1a, 64 bits: a user who can name switches could as well join the segment that a name collides
// with.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xCBF2'9CE4'8422'2325;
  for (const char c : text) {
    value ^= static_cast<unsigned char>(c);
    value *= 0x0000'0100'0000'01B3;
  }
  return value == 0 ? 1 : value;
}

}  // namespace

std::optional<std::uint64_t> segment_number(const Network& network, const std::string& port_group) {
  const auto group = network.port_groups.find(port_group);
  if (group == network.port_groups.end() || group->second.vlan == kGuestVlans) return std::nullopt;
  // A name has no slash.
  return hash(group->second.vds + "/" + std::to_string(group->second.vlan));
}

// No switch is called "?".
std::uint64_t lone_segment_number(std::string_view adapter) {
  return hash("?/" + std::string(adapter));
}

}  // namespace paravane::model
