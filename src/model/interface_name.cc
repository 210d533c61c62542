#include "model/interface_name.h"

#include <fmt/core.h>

#include "model/distributed_switch.h"

namespace paravane::model {
namespace {

std::uint32_t hash32(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619u;
  return hash;
}

std::string shorten(std::string_view prefix, std::string_view whole) {
  std::string name = fmt::format("{}{}", prefix, whole);
  if (name.size() <= kMaxInterfaceName) return name;
  return fmt::format("{}-{:04x}", name.substr(0, kMaxInterfaceName - 5), hash32(whole) & 0xFFFF);
}

std::string adapter_part(std::string_view vm, std::uint32_t adapter) {
  return adapter == 1 ? std::string(vm) : fmt::format("{}.{}", vm, adapter);
}

}  // namespace

std::string tap_name(std::string_view vm, std::uint32_t adapter) {
  return shorten("pv-", adapter_part(vm, adapter));
}

std::string roce_port_name(std::string_view vm, std::uint32_t adapter) {
  return shorten("pvr-", adapter_part(vm, adapter));
}

std::string merging_end_name(std::string_view vm, std::uint32_t adapter) {
  return shorten("pvm-", adapter_part(vm, adapter));
}

std::string filling_end_name(std::string_view vm, std::uint32_t adapter) {
  return shorten("pvf-", adapter_part(vm, adapter));
}

std::string vmknic_port_name(std::string_view vmknic) {
  return fmt::format("{}-port", vmknic);
}

std::string uplink_tap_name(std::string_view uplink, std::uint32_t vlan) {
  return vlan == 0 ? std::string(uplink) : fmt::format("{}+{}", uplink, vlan);
}

// No switch's name begins with '+'.
std::string parking_bridge_name(std::string_view port) {
  return shorten("pvs-", fmt::format("+{}", port));
}

std::string bridge_name(std::string_view vds) {
  return shorten("pvs-", vds);
}

std::string bridge_name(std::string_view vds, std::uint32_t vlan) {
  return vlan == 0 ? bridge_name(vds) : shorten("pvs-", fmt::format("{}+{}", vds, vlan));
}

}  // namespace paravane::model
