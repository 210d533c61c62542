// Converts MAC addresses to and from text, and derives the default address of an adapter from a
// name. A VM that is removed and added again therefore keeps its address, and the GUIDs that depend
// on the address.
//
// Default addresses are 02:50:56:xx:xx:xx. This prefix is VMware's prefix (00:50:56), which guests
// know from vSphere, with the "locally administered" bit set. The bit is set because VMware's
// prefix is not assigned to Paravane.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paravane::model {

using MacAddress = std::array<std::uint8_t, 6>;

// Six pairs of hex digits joined by colons (or all by dashes).
std::optional<MacAddress> parse_mac(std::string_view text);
std::string format_mac(const MacAddress& mac);

// Whether this can be the address of one adapter: it is neither zero nor a group address.
bool is_unicast(const MacAddress& mac);

// `attempt` starts at 0 and is increased while the resulting address belongs to another VM.
MacAddress mac_for_name(std::string_view name, unsigned attempt = 0);

}  // namespace paravane::model
