#include "model/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace paravane::model {
namespace {

constexpr std::array<std::string_view, 6> kStates = {"Unknown", "Down",   "Init",
                                                     "Armed",   "Active", "ActiveDefer"};

// `prefix` and a number as we write it.
bool is_numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  const std::string_view number = name.substr(prefix.size());
  return !number.empty() && number.size() <= 3 && (number.size() == 1 || number[0] != '0') &&
         std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string_view to_string(RdmaState state) {
  return kStates.at(static_cast<std::size_t>(state));
}

std::optional<RdmaState> parse_rdma_state(std::string_view text) {
  const auto found = std::ranges::find(kStates, text);
  if (found == kStates.end()) return std::nullopt;
  return static_cast<RdmaState>(found - kStates.begin());
}

Status check_rdma_name(std::string_view name) {
  if (is_numbered(name, kRdmaPrefix)) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("\"{}\" is not an RDMA device: expected vmrdma0, vmrdma1, ...", name));
}

bool is_nic_name(std::string_view name) {
  return is_numbered(name, kNicPrefix);
}

bool is_ipoib_uplink_name(std::string_view name) {
  if (!is_nic_name(name)) return false;
  unsigned number = 0;
  std::from_chars(name.data() + kNicPrefix.size(), name.data() + name.size(), number);
  return number >= kFirstIpoibUplink && number - kFirstIpoibUplink < kMaxIpoibUplinks;
}

const PhysicalNic* nic_named(const Machine& machine, std::string_view name) {
  const auto is_named = [name](const PhysicalNic& nic) {
    return nic.linux_name == name || nic.name == name;
  };
  const auto found = std::ranges::find_if(machine.nics, is_named);
  return found == machine.nics.end() ? nullptr : &*found;
}

std::string shown_nic(const PhysicalNic& nic) {
  if (nic.name.empty() || nic.name == nic.linux_name) return nic.linux_name;
  return fmt::format("{} ({})", nic.name, nic.linux_name);
}

}  // namespace paravane::model
