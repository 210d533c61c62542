#include "model/nic_dcb.h"

#include <fmt/core.h>

#include <algorithm>

namespace paravane::model {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"unknown", "cee", "ieee"};
constexpr std::array<std::string_view, 6> kSelectors = {"unknown", "ethertype", "tcp",
                                                        "udp",     "port",      "dscp"};

template <typename Value, std::size_t N>
std::optional<Value> named_value(const std::array<std::string_view, N>& names,
                                 std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

}  // namespace

std::string_view to_string(DcbxMode mode) {
  return kModes.at(static_cast<std::size_t>(mode));
}

std::optional<DcbxMode> parse_dcbx_mode(std::string_view text) {
  return named_value<DcbxMode>(kModes, text);
}

std::string_view to_string(DcbSelector selector) {
  return kSelectors.at(static_cast<std::size_t>(selector));
}

std::optional<DcbSelector> parse_dcb_selector(std::string_view text) {
  return named_value<DcbSelector>(kSelectors, text);
}

std::string shown_priorities(std::uint8_t priorities) {
  std::string text;
  for (unsigned i = 0; i < kDcbClasses; ++i) {
    if ((priorities >> i & 1U) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", i);
  }
  return text;
}

}  // namespace paravane::model
