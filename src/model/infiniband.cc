#include "model/infiniband.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "model/distributed_switch.h"
#include "model/ib_device.h"
#include "model/stable_hash.h"

namespace paravane::model {
namespace {

constexpr std::size_t kMostNameCharacters = 19;

constexpr std::array<std::pair<IbPortState, std::string_view>, 5> kIbStates = {{
    {IbPortState::kUnknown, "Unknown"},
    {IbPortState::kDown, "Down"},
    {IbPortState::kInitializing, "Initializing"},
    {IbPortState::kArmed, "Armed"},
    {IbPortState::kActive, "Active"},
}};

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

Status check_ethernet(const IbAdapter& adapter) {
  const IbDevice device = *find_ib_device(adapter.device);
  for (const auto& [port, nic] : adapter.ethernet) {
    if (port < 1 || port > device.ports)
      return fail(Errc::kInvalidArgument, adapter.device + " has no port " + std::to_string(port) +
                                              ", so it stands for no NIC");
    if (!device.can_be_ethernet)
      return fail(Errc::kInvalidArgument,
                  "ports of " + adapter.device + " cannot be Ethernet: it is not capable of VPI");
    if (Status good = check_interface_name(nic); !good)
      return fail(Errc::kInvalidArgument, "NIC '" + nic + "': " + good.error().message);
  }
  return {};
}

}  // namespace

Status check_ib_adapter_name(std::string_view name) {
  const bool begins_well = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  if (begins_well && name.size() <= kMostNameCharacters &&
      std::ranges::all_of(name, is_name_character))
    return {};
  return fail(
      Errc::kInvalidArgument,
      "an InfiniBand adapter's name has 1 to 19 letters, digits, '_' and '-', and begins with "
      "a letter: '" +
          std::string(name) + "'");
}

Status check_ib_adapter(const IbAdapter& adapter) {
  if (Status good = check_ib_adapter_name(adapter.name); !good) return good;
  if (!find_ib_device(adapter.device)) {
    return fail(Errc::kInvalidArgument, "unknown InfiniBand device '" + adapter.device +
                                            "'; known are " + ib_device_names());
  }
  if (adapter.bus > kMaxPciBus)
    return fail(Errc::kInvalidArgument,
                "a PCI bus has a number from 0 to 255: " + std::to_string(adapter.bus));
  return check_ethernet(adapter);
}

std::uint64_t ib_guid_for_name(std::string_view name, unsigned attempt) {
  constexpr std::uint64_t kLocal = 0x02'50'56;
  return (kLocal << 40) | ((stable_hash(name, attempt) & 0xFFFF'FFFF) << 8);
}

std::string_view to_string(IbPortState state) {
  const auto* found = std::ranges::find(kIbStates, state, &decltype(kIbStates)::value_type::first);
  return found == kIbStates.end() ? "Unknown" : found->second;
}

std::optional<IbPortState> parse_ib_port_state(std::string_view text) {
  const auto* found = std::ranges::find(kIbStates, text, &decltype(kIbStates)::value_type::second);
  if (found == kIbStates.end()) return std::nullopt;
  return found->first;
}

}  // namespace paravane::model
