// HostVmkernel: what an operator has said of this host beside its VMs and switches:
// VMkernel interfaces, advanced settings, firewall rulesets. All of it is kept in the
// store. What follows for the channel to other hosts is told whenever it changes: it is
// at the interface that /Net/PVRDMAVmknic names, and only while the ruleset pvrdma is
// enabled (Lenovo LP0759; Mellanox's guide).
//
// Control thread only.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/event.h"
#include "control/store.h"
#include "control/vmkernel.h"
#include "host/channel_site.h"
#include "host/host_network.h"

namespace paravane::host {

struct HostVmkernelConfig {
  std::string management_address;  // [cluster] address, vmk0's; empty: there is no vmk0
  // Whether a MAC address is nobody's here.
  std::function<bool(const control::MacAddress&)> is_free;
  std::function<void(const ChannelSite&)> site_changed{};
  // Where the channel is now.
  std::function<control::ChannelPlace()> channel{};
  std::function<void()> setting_changed{};
  std::function<void(control::Event)> tell{};
};

class HostVmkernel final : public control::VmkernelManagement {
 public:
  // Both outlive us.
  HostVmkernel(HostVmkernelConfig config, control::Store& store, HostNetwork& network);

  // Reads the store. Errors: kStore.
  control::ApiResult<void> load();
  // In the order of names.
  std::vector<control::Vmknic> vmknics() const;
  // The switches of this host have been looked at: interfaces may be other than they were.
  void on_applied();
  ChannelSite site() const;
  // What a setting that is a number is now.
  std::int64_t number(std::string_view path) const {
    return control::setting_number(settings_, path);
  }

  // ---- VmkernelManagement ----
  control::ApiResult<control::VmkernelConfiguration> vmkernel_configuration() override;
  control::ApiResult<control::VmknicStatus> add_vmknic(const control::Vmknic& vmknic) override;
  control::ApiResult<control::VmknicStatus> set_vmknic(
      const std::string& name, const control::VmknicChange& change) override;
  control::ApiResult<void> remove_vmknic(const std::string& name) override;
  control::ApiResult<void> set_setting(const control::SettingValue& setting) override;
  control::ApiResult<void> set_ruleset(const control::FirewallRuleset& ruleset) override;

 private:
  control::ApiResult<void> load_vmknics();
  control::ApiResult<void> load_settings();
  control::ApiResult<void> keep(const control::Vmknic& vmknic);
  control::ApiResult<void> check_network(const control::Vmknic& vmknic) const;
  control::ApiResult<void> check_tag(const std::string& vmknic) const;
  std::string tagged() const;
  control::MacAddress choose_mac(const std::string& name) const;
  control::VmknicStatus status_of(const control::Vmknic& vmknic) const;
  control::VmknicStatus management() const;
  std::vector<control::VmknicStatus> vmknic_statuses() const;  // the management's first
  // By name, vmk0 among them.
  std::vector<std::string> names() const;

  // To log and event log. `text`: what is so from now on.
  void tell(const char* type, std::map<std::string, std::string> fields, std::string text) const;

  HostVmkernelConfig config_;
  control::Store& store_;
  HostNetwork& network_;
  std::map<std::string, control::Vmknic> vmknics_;  // but for vmk0
  control::SettingValues settings_;                 // that are not as they are by themselves
  bool pvrdma_enabled_ = false;
  ChannelSite told_;
};

}  // namespace paravane::host
