// LinkFault gives the cause when the tap of a VM's NIC is not attached to its bridge. The cause
// determines which remedy is shown to an operator.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace paravane::model {

enum class LinkFault : std::uint8_t {
  kOther,
  kForeign,    // another program created an interface of this name
  kNoBridges,  // this kernel creates no bridges
};

inline constexpr std::array<std::string_view, 3> kLinkFaults = {"other", "foreign-interface",
                                                                "no-bridges"};

constexpr std::string_view to_string(LinkFault fault) {
  return kLinkFaults.at(static_cast<std::size_t>(fault));
}

constexpr std::optional<LinkFault> parse_link_fault(std::string_view text) {
  const auto* const found = std::ranges::find(kLinkFaults, text);
  if (found == kLinkFaults.end()) return std::nullopt;
  return static_cast<LinkFault>(found - kLinkFaults.begin());
}

}  // namespace paravane::model
