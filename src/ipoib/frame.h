// Reads and writes the Ethernet frames of VMs, with at most one VLAN tag (IEEE 802.1Q).
//
// Frames are those of a tap: without a checksum, and shorter than on a wire where no hardware has
// padded them. Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "wire/roce/headers.h"

namespace paravane::ipoib {

using wire::roce::MacBytes;

struct Vlan {
  std::uint16_t number = 0;   // 12 bits; 0: the tag has a priority alone
  std::uint8_t priority = 0;  // 3 bits
  bool may_be_dropped = false;

  friend bool operator==(const Vlan&, const Vlan&) = default;
};

struct EthernetFrame {
  MacBytes destination{};
  MacBytes source{};
  std::optional<Vlan> vlan{};
  std::uint16_t type = 0;  // below 0x0600 it is a length, of a protocol that is not IP
  std::span<const std::byte> payload{};  // within the frame that was read, with its padding
};

enum class FrameRefusal : std::uint8_t {
  kShort,   // ends within its headers
  kSource,  // zero or a group
  kTags,    // two, or one of another kind (IEEE 802.1ad)
  kVlan,    // the number that is reserved, 4095
};

std::expected<EthernetFrame, FrameRefusal> read_frame(std::span<const std::byte> bytes);

// Replaces `bytes`, without padding. REQUIRES: numbers within their bits, and a payload outside of
// `bytes`.
void write_frame(const EthernetFrame& frame, std::vector<std::byte>& bytes);

}  // namespace paravane::ipoib
