// Defines plain values for the settings of a host that do not belong to a VM or a switch. As in
// vSphere, these are VMkernel interfaces, advanced settings and firewall rulesets. These settings
// also determine where the host accepts channels (TCP connections) from other hosts.
// VmkernelManagement is the interface for an operator's requests about these settings.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/advanced_setting.h"
#include "model/api_error.h"
#include "model/closed_channel.h"
#include "model/hca_memory.h"
#include "model/vmknic.h"

namespace paravane::model {

inline constexpr std::string_view kPvrdmaRuleset = "pvrdma";

// A ruleset that is disabled blocks its traffic in both directions.
struct FirewallRuleset {
  std::string name;
  bool enabled = false;

  friend bool operator==(const FirewallRuleset&, const FirewallRuleset&) = default;
};

// A setting with its value.
struct SettingValue {
  std::string path;
  std::string value;

  friend bool operator==(const SettingValue&, const SettingValue&) = default;
};

// The address at which this host accepts channels from other hosts.
struct ChannelPlace {
  std::string endpoint{};  // "192.168.1.241:28250", where it listens; empty: it does not
  ClosedChannel closed{};  // why it does not

  friend bool operator==(const ChannelPlace&, const ChannelPlace&) = default;
};

struct VmkernelConfiguration {
  std::vector<VmknicStatus> vmknics{};  // vmk0 first, where there is one
  std::vector<SettingValue> settings{};
  std::vector<FirewallRuleset> rulesets{};
  ChannelPlace channel{};
  HcaMemory hca{};  // of the RDMA adapter that the channel is to go over

  friend bool operator==(const VmkernelConfiguration&, const VmkernelConfiguration&) = default;
};

// What can be changed of a VMkernel interface.
struct VmknicChange {
  std::optional<Ipv4Interface> ipv4{};  // nullopt: none
};

// A part of Management, with the same rules about threads (management.h).
class VmkernelManagement {
 public:
  virtual ~VmkernelManagement() = default;

  // Also checks the interfaces and repairs them.
  virtual ApiResult<VmkernelConfiguration> vmkernel_configuration() = 0;

  // REQUIRES: check_vmknic(). A MAC address that is not given is chosen. Errors: kExists,
  // kNotFound (the port group), kInvalidRequest (this host is not in its switch; the
  // network overlaps with another's), kLimitReached, kNoSpace, kStore.
  virtual ApiResult<VmknicStatus> add_vmknic(const Vmknic& vmknic) = 0;
  // Errors: kNotFound, kInvalidRequest, kNoSpace, kStore.
  virtual ApiResult<VmknicStatus> set_vmknic(const std::string& name,
                                             const VmknicChange& change) = 0;
  // Errors: kNotFound, kInvalidRequest (vmk0), kInUse (it is tagged), kNoSpace, kStore.
  virtual ApiResult<void> remove_vmknic(const std::string& name) = 0;

  // Errors: kNotFound (the path, the interface it names), kInvalidRequest, kNoSpace, kStore.
  virtual ApiResult<void> set_setting(const SettingValue& setting) = 0;
  // Errors: kNotFound, kNoSpace, kStore.
  virtual ApiResult<void> set_ruleset(const FirewallRuleset& ruleset) = 0;
};

}  // namespace paravane::model
