// MAC addresses in text form, and the default address of a VM: it is derived from the VM's name,
// so a VM that is removed and added again, or added on another host, keeps its address and
// therefore its GUIDs.
//
// Default addresses are 02:50:56:xx:xx:xx: the prefix that vSphere guests are used to, with the
// "locally administered" bit set, since the prefix is not Paravane's.

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

// Can be the address of one adapter: not zero, not a group.
bool is_unicast(const MacAddress& mac);

// `attempt` counts up from 0 when earlier ones are taken by another VM.
MacAddress mac_for_name(std::string_view name, unsigned attempt = 0);

}  // namespace paravane::model
