// Defines plain values for VMkernel interfaces, and the rules for them. As in vSphere, these are
// the host's own interfaces on its distributed switches (vmk1, vmk2, ...). An operator can tag one
// of them for PVRDMA. The host then accepts channels (TCP connections from other hosts of the
// cluster) at the address of that interface.
//
// vmk0 is the management interface, that is, the Linux interface that has [cluster] address.
// Paravane neither creates nor removes it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ipv4_interface.h"
#include "base/result.h"
#include "model/mac_address.h"

namespace paravane::model {

inline constexpr std::string_view kManagementVmknic = "vmk0";
inline constexpr std::string_view kManagementPortGroup = "Management Network";
inline constexpr std::size_t kMaxVmknics = 16;
inline constexpr unsigned kLastVmknic = 255;

struct Vmknic {
  std::string name;
  std::string port_group;
  std::optional<MacAddress> mac{};  // nullopt: not chosen yet
  std::optional<Ipv4Interface> ipv4{};

  friend bool operator==(const Vmknic&, const Vmknic&) = default;
};

// Errors: kInvalidArgument, with the rule.
Status check_vmknic(const Vmknic& vmknic);
Status check_vmknic_name(std::string_view name);  // "vmk0" to "vmk255"

// An interface that an operator creates must have the address of one host in a private network, /8
// to /30. Errors: kInvalidArgument, with the rule.
Status check_private(const Ipv4Interface& value);

// A VMkernel interface as an operator sees it.
struct VmknicStatus {
  Vmknic spec;
  std::string interface{};  // of Linux; empty: none
  std::string vds{};        // empty: its port group has none
  std::uint32_t mtu = 0;
  bool tagged = false;    // for PVRDMA
  std::string problem{};  // why it is not as it should be; empty: it is

  friend bool operator==(const VmknicStatus&, const VmknicStatus&) = default;
};

// The interface that should be tagged for PVRDMA: one on a switch without problems, or else vmk0.
std::string usable_vmknic(const std::vector<VmknicStatus>& vmknics);

}  // namespace paravane::model
