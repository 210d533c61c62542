// ControlDoor lets any thread use Management, the interface for everything that an operator can
// request. It forwards each request to the control thread and waits for the result. If the result
// takes longer than kLimit, the request fails with kBusy.

#pragma once

#include <chrono>

#include "base/mailbox.h"
#include "model/management.h"

namespace paravane::host {

class ControlDoor : public model::Management {
 public:
  // Both outlive the door; `host` is used on the thread that `mailbox` belongs to.
  ControlDoor(model::Management& host, Mailbox& mailbox) : host_(host), mailbox_(mailbox) {}

  model::ApiResult<model::VmStatus> add_vm(const model::VmSpec& spec) override {
    return carry([this, spec] { return host_.add_vm(spec); });
  }
  model::ApiResult<void> remove_vm(const std::string& name, bool force) override {
    return carry([this, name, force] { return host_.remove_vm(name, force); });
  }
  model::ApiResult<model::VmStatus> set_vm(const std::string& name,
                                           const model::VmChange& change) override {
    return carry([this, name, change] { return host_.set_vm(name, change); });
  }
  model::ApiResult<model::VmStatus> add_adapter(const std::string& name,
                                                const model::AdapterRequest& request) override {
    return carry([this, name, request] { return host_.add_adapter(name, request); });
  }
  model::ApiResult<model::VmStatus> remove_adapter(const std::string& name, std::uint32_t number,
                                                   bool force) override {
    return carry([this, name, number, force] { return host_.remove_adapter(name, number, force); });
  }
  model::ApiResult<model::VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                                  bool connected) override {
    return carry(
        [this, name, number, connected] { return host_.set_connected(name, number, connected); });
  }
  model::ApiResult<std::vector<model::VmStatus>> list_vms() override {
    return carry([this] { return host_.list_vms(); });
  }
  model::ApiResult<model::VmStatus> find_vm(const std::string& name) override {
    return carry([this, name] { return host_.find_vm(name); });
  }
  model::ApiResult<model::DaemonStatus> status() override {
    return carry([this] { return host_.status(); });
  }
  model::ApiResult<model::Stats> stats(const std::optional<std::string>& vm) override {
    return carry([this, vm] { return host_.stats(vm); });
  }
  model::ApiResult<void> stop(bool force) override {
    return carry([this, force] { return host_.stop(force); });
  }
  model::ApiResult<void> upgrade(bool only_check) override {
    return carry([this, only_check] { return host_.upgrade(only_check); });
  }
  model::ApiResult<model::SwitchStatus> create_switch(
      const model::DistributedSwitch& vds) override {
    return carry([this, vds] { return host_.create_switch(vds); });
  }
  model::ApiResult<model::SwitchStatus> set_switch_mtu(const std::string& vds,
                                                       std::uint32_t mtu) override {
    return carry([this, vds, mtu] { return host_.set_switch_mtu(vds, mtu); });
  }
  model::ApiResult<void> delete_switch(const std::string& vds) override {
    return carry([this, vds] { return host_.delete_switch(vds); });
  }
  model::ApiResult<model::SwitchStatus> add_switch_host(const std::string& vds,
                                                        const model::SwitchHost& host) override {
    return carry([this, vds, host] { return host_.add_switch_host(vds, host); });
  }
  model::ApiResult<model::SwitchStatus> set_switch_uplink(const std::string& vds,
                                                          const model::SwitchHost& host) override {
    return carry([this, vds, host] { return host_.set_switch_uplink(vds, host); });
  }
  model::ApiResult<model::SwitchStatus> remove_switch_host(const std::string& vds,
                                                           const std::string& host) override {
    return carry([this, vds, host] { return host_.remove_switch_host(vds, host); });
  }
  model::ApiResult<std::vector<model::SwitchStatus>> list_switches() override {
    return carry([this] { return host_.list_switches(); });
  }
  model::ApiResult<model::SwitchStatus> find_switch(const std::string& name) override {
    return carry([this, name] { return host_.find_switch(name); });
  }
  model::ApiResult<model::SwitchRepair> repair_switches() override {
    return carry([this] { return host_.repair_switches(); });
  }
  model::ApiResult<std::vector<model::IbAdapterStatus>> list_ib_adapters() override {
    return carry([this] { return host_.list_ib_adapters(); });
  }
  model::ApiResult<model::IbAdapterStatus> add_ib_adapter(
      const model::IbAdapter& adapter) override {
    return carry([this, adapter] { return host_.add_ib_adapter(adapter); });
  }
  model::ApiResult<void> remove_ib_adapter(const std::string& name) override {
    return carry([this, name] { return host_.remove_ib_adapter(name); });
  }
  model::ApiResult<std::vector<model::IbUplink>> list_ib_uplinks() override {
    return carry([this] { return host_.list_ib_uplinks(); });
  }
  model::ApiResult<model::IbFabric> ib_fabric() override {
    return carry([this] { return host_.ib_fabric(); });
  }
  model::ApiResult<std::vector<model::IbManager>> list_ib_managers() override {
    return carry([this] { return host_.list_ib_managers(); });
  }
  model::ApiResult<void> add_ib_manager(const std::string& name) override {
    return carry([this, name] { return host_.add_ib_manager(name); });
  }
  model::ApiResult<void> remove_ib_manager(const std::string& name) override {
    return carry([this, name] { return host_.remove_ib_manager(name); });
  }
  model::ApiResult<std::vector<model::IbModuleStatus>> list_ib_modules() override {
    return carry([this] { return host_.list_ib_modules(); });
  }
  model::ApiResult<model::IbModuleStatus> change_ib_module(
      const std::string& name, const model::IbModuleChange& change) override {
    return carry([this, name, change] { return host_.change_ib_module(name, change); });
  }
  model::ApiResult<void> restart_infiniband() override {
    return carry([this] { return host_.restart_infiniband(); });
  }
  model::ApiResult<std::vector<model::Vmhba>> list_vmhbas() override {
    return carry([this] { return host_.list_vmhbas(); });
  }
  model::ApiResult<model::Vmhba> set_vmhba(const std::string& name,
                                           const model::VmhbaSetting& setting) override {
    return carry([this, name, setting] { return host_.set_vmhba(name, setting); });
  }
  model::ApiResult<void> rescan(const std::optional<std::string>& vmhba) override {
    return carry([this, vmhba] { return host_.rescan(vmhba); });
  }
  model::ApiResult<bool> is_scanning(const std::optional<std::string>& vmhba) override {
    return carry([this, vmhba] { return host_.is_scanning(vmhba); });
  }
  model::ApiResult<std::vector<model::SrpTargetStatus>> list_srp_targets() override {
    return carry([this] { return host_.list_srp_targets(); });
  }
  model::ApiResult<void> add_srp_target(const model::SrpTarget& target) override {
    return carry([this, target] { return host_.add_srp_target(target); });
  }
  model::ApiResult<void> remove_srp_target(const std::string& vmhba, std::uint32_t number,
                                           bool force) override {
    return carry(
        [this, vmhba, number, force] { return host_.remove_srp_target(vmhba, number, force); });
  }
  model::ApiResult<std::vector<model::ScsiDevice>> list_scsi_devices() override {
    return carry([this] { return host_.list_scsi_devices(); });
  }
  model::ApiResult<std::vector<model::LunPath>> list_lun_paths() override {
    return carry([this] { return host_.list_lun_paths(); });
  }
  model::ApiResult<model::VmkernelConfiguration> vmkernel_configuration() override {
    return carry([this] { return host_.vmkernel_configuration(); });
  }
  model::ApiResult<model::VmknicStatus> add_vmknic(const model::Vmknic& vmknic) override {
    return carry([this, vmknic] { return host_.add_vmknic(vmknic); });
  }
  model::ApiResult<model::VmknicStatus> set_vmknic(const std::string& name,
                                                   const model::VmknicChange& change) override {
    return carry([this, name, change] { return host_.set_vmknic(name, change); });
  }
  model::ApiResult<void> remove_vmknic(const std::string& name) override {
    return carry([this, name] { return host_.remove_vmknic(name); });
  }
  model::ApiResult<void> set_setting(const model::SettingValue& setting) override {
    return carry([this, setting] { return host_.set_setting(setting); });
  }
  model::ApiResult<void> set_ruleset(const model::FirewallRuleset& ruleset) override {
    return carry([this, ruleset] { return host_.set_ruleset(ruleset); });
  }
  model::ApiResult<model::ImpairmentStatus> set_impairment(
      const model::Impairment& impairment) override {
    return carry([this, impairment] { return host_.set_impairment(impairment); });
  }
  model::ApiResult<void> clear_impairments(const std::optional<std::string>& vm) override {
    return carry([this, vm] { return host_.clear_impairments(vm); });
  }
  model::ApiResult<std::vector<model::ImpairmentStatus>> list_impairments() override {
    return carry([this] { return host_.list_impairments(); });
  }
  model::ApiResult<std::vector<model::PhysicalNic>> list_nics() override {
    return carry([this] { return host_.list_nics(); });
  }
  model::ApiResult<std::vector<model::RdmaDevice>> list_rdma_devices() override {
    return carry([this] { return host_.list_rdma_devices(); });
  }
  model::ApiResult<model::NicDcb> nic_dcb(const std::string& nic) override {
    return carry([this, nic] { return host_.nic_dcb(nic); });
  }
  model::ApiResult<model::RdmaStats> rdma_device_stats(const std::string& name) override {
    return carry([this, name] { return host_.rdma_device_stats(name); });
  }
  model::ApiResult<model::CaptureStatus> start_capture(const model::CaptureSpec& spec) override {
    return carry([this, spec] { return host_.start_capture(spec); });
  }
  model::ApiResult<model::CapturePackets> read_capture(std::uint64_t id) override {
    return carry([this, id] { return host_.read_capture(id); });
  }
  model::ApiResult<model::CaptureStatus> end_capture(std::uint64_t id) override {
    return carry([this, id] { return host_.end_capture(id); });
  }
  model::ApiResult<std::vector<model::CaptureStatus>> list_captures() override {
    return carry([this] { return host_.list_captures(); });
  }
  model::ApiResult<model::PortGroupStatus> create_port_group(
      const model::PortGroup& group) override {
    return carry([this, group] { return host_.create_port_group(group); });
  }
  model::ApiResult<model::PortGroupStatus> change_port_group(
      const std::string& name, const model::PortGroupChange& change) override {
    return carry([this, name, change] { return host_.change_port_group(name, change); });
  }
  model::ApiResult<void> delete_port_group(const std::string& name) override {
    return carry([this, name] { return host_.delete_port_group(name); });
  }
  model::ApiResult<std::vector<model::PortGroupStatus>> list_port_groups() override {
    return carry([this] { return host_.list_port_groups(); });
  }
  model::ApiResult<model::PortGroupStatus> find_port_group(const std::string& name) override {
    return carry([this, name] { return host_.find_port_group(name); });
  }

 protected:
  // Above what the control thread itself waits for a worker.
  static constexpr std::chrono::milliseconds kLimit{15'000};

  template <typename Function>
  std::invoke_result_t<Function> carry(Function function) {
    auto answer = mailbox_.ask(std::move(function), kLimit);
    if (answer) return std::move(*answer);
    return model::refuse(model::ApiErrorCode::kBusy, "the daemon did not respond in time",
                         "Nothing was changed. Try again.");
  }

 private:
  model::Management& host_;
  Mailbox& mailbox_;
};

}  // namespace paravane::host
