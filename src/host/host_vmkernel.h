// HostVmkernel manages the operator's settings for this host that do not belong to a VM or a
// switch: VMkernel interfaces, advanced settings and firewall rulesets. It keeps all of them in the
// store.
//
// It calls site_changed() when a setting changes the address for channels (TCP connections to other
// hosts of the cluster). Channels use the VMkernel interface that the setting /Net/PVRDMAVmknic
// names, and only while the ruleset pvrdma is enabled, as in vSphere (Lenovo LP0759; Mellanox's
// guide).
//
// Control thread only.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/change_log.h"
#include "host/channel_site.h"
#include "host/hca_choice.h"
#include "host/host_network.h"
#include "model/event.h"
#include "model/vmkernel.h"
#include "store/store.h"

namespace paravane::host {

struct HostVmkernelConfig {
  std::string management_address;  // [cluster] address, vmk0's; empty: there is no vmk0
  // Whether a MAC address is unused on this host.
  std::function<bool(const model::MacAddress&)> is_free;
  std::function<void(const ChannelSite&)> site_changed{};
  // Where the channel is now.
  std::function<model::ChannelPlace()> channel{};
  // Of the RDMA adapter that the channel is to go over.
  std::function<model::HcaMemory()> hca_memory{};
  std::function<void()> setting_changed{};
  std::function<void(model::Event)> tell{};
};

class HostVmkernel final : public model::VmkernelManagement {
 public:
  // Both outlive us.
  HostVmkernel(HostVmkernelConfig config, store::Store& store, HostNetwork& network);

  // Reads the store. Errors: kStore.
  model::ApiResult<void> load();
  // In the order of names.
  std::vector<model::Vmknic> vmknics() const;
  // The switches of this host were checked, so the state of its interfaces may have changed.
  void on_applied();
  ChannelSite site() const;
  // The NIC that the channel goes over, or would.
  ChannelNic channel_nic() const;
  // The current value of a setting that is a number.
  std::int64_t number(std::string_view path) const {
    return model::setting_number(settings_, path);
  }

  // ---- VmkernelManagement ----
  model::ApiResult<model::VmkernelConfiguration> vmkernel_configuration() override;
  model::ApiResult<model::VmknicStatus> add_vmknic(const model::Vmknic& vmknic) override;
  model::ApiResult<model::VmknicStatus> set_vmknic(const std::string& name,
                                                   const model::VmknicChange& change) override;
  model::ApiResult<void> remove_vmknic(const std::string& name) override;
  model::ApiResult<void> set_setting(const model::SettingValue& setting) override;
  model::ApiResult<void> set_ruleset(const model::FirewallRuleset& ruleset) override;

 private:
  model::ApiResult<void> load_vmknics();
  model::ApiResult<void> load_settings();
  model::ApiResult<void> keep(const model::Vmknic& vmknic);
  model::ApiResult<void> check_network(const model::Vmknic& vmknic) const;
  model::ApiResult<void> check_tag(const std::string& vmknic) const;
  std::string tagged() const;
  model::MacAddress choose_mac(const std::string& name) const;
  model::VmknicStatus status_of(const model::Vmknic& vmknic) const;
  model::VmknicStatus management() const;
  std::vector<model::VmknicStatus> vmknic_statuses() const;  // the management's first
  // By name, vmk0 among them.
  std::vector<std::string> names() const;

  // Writes to the log and the event log. `text` describes the new state.
  void tell(const char* type, std::map<std::string, std::string> fields, std::string text) const;

  HostVmkernelConfig config_;
  store::Store& store_;
  HostNetwork& network_;
  std::map<std::string, model::Vmknic> vmknics_;  // but for vmk0
  model::SettingValues settings_;                 // those that differ from their defaults
  bool pvrdma_enabled_ = false;
  ChannelSite told_;
  mutable ChangeLog changes_;
};

}  // namespace paravane::host
