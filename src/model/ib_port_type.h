// The types that a port of an adapter can have (guide, 4.2.3): VPI adapters can have both.
//
// Plain values; any thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace paravane::model {

// The values are those of the parameters port_type_default and port_types.
enum class IbPortType : std::uint8_t { kInfiniband = 1, kEthernet = 2 };

// "ib", "eth".
constexpr std::string_view to_string(IbPortType type) {
  return type == IbPortType::kEthernet ? "eth" : "ib";
}
constexpr std::optional<IbPortType> parse_ib_port_type(std::string_view text) {
  if (text == "ib") return IbPortType::kInfiniband;
  if (text == "eth") return IbPortType::kEthernet;
  return std::nullopt;
}

}  // namespace paravane::model
