// ControlDoor: Management for any thread: carries each request to the control
// thread and waits for the answer, for a bounded time.

#pragma once

#include <chrono>

#include "base/mailbox.h"
#include "control/management.h"

namespace paravane::host {

class ControlDoor : public control::Management {
 public:
  // Both outlive the door; `host` is used on the thread that `mailbox` belongs to.
  ControlDoor(control::Management& host, Mailbox& mailbox) : host_(host), mailbox_(mailbox) {}

  control::ApiResult<control::VmStatus> add_vm(const control::VmSpec& spec) override {
    return carry([this, spec] { return host_.add_vm(spec); });
  }
  control::ApiResult<void> remove_vm(const std::string& name, bool force) override {
    return carry([this, name, force] { return host_.remove_vm(name, force); });
  }
  control::ApiResult<control::VmStatus> set_vm(const std::string& name,
                                               const control::VmChange& change) override {
    return carry([this, name, change] { return host_.set_vm(name, change); });
  }
  control::ApiResult<control::VmStatus> add_adapter(
      const std::string& name, const control::AdapterRequest& request) override {
    return carry([this, name, request] { return host_.add_adapter(name, request); });
  }
  control::ApiResult<control::VmStatus> remove_adapter(const std::string& name,
                                                       std::uint32_t number, bool force) override {
    return carry([this, name, number, force] { return host_.remove_adapter(name, number, force); });
  }
  control::ApiResult<control::VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                                      bool connected) override {
    return carry(
        [this, name, number, connected] { return host_.set_connected(name, number, connected); });
  }
  control::ApiResult<std::vector<control::VmStatus>> list_vms() override {
    return carry([this] { return host_.list_vms(); });
  }
  control::ApiResult<control::VmStatus> find_vm(const std::string& name) override {
    return carry([this, name] { return host_.find_vm(name); });
  }
  control::ApiResult<control::DaemonStatus> status() override {
    return carry([this] { return host_.status(); });
  }
  control::ApiResult<control::Stats> stats(const std::optional<std::string>& vm) override {
    return carry([this, vm] { return host_.stats(vm); });
  }
  control::ApiResult<void> stop(bool force) override {
    return carry([this, force] { return host_.stop(force); });
  }
  control::ApiResult<control::SwitchStatus> create_switch(
      const control::DistributedSwitch& vds) override {
    return carry([this, vds] { return host_.create_switch(vds); });
  }
  control::ApiResult<control::SwitchStatus> set_switch_mtu(const std::string& vds,
                                                           std::uint32_t mtu) override {
    return carry([this, vds, mtu] { return host_.set_switch_mtu(vds, mtu); });
  }
  control::ApiResult<void> delete_switch(const std::string& vds) override {
    return carry([this, vds] { return host_.delete_switch(vds); });
  }
  control::ApiResult<control::SwitchStatus> add_switch_host(
      const std::string& vds, const control::SwitchHost& host) override {
    return carry([this, vds, host] { return host_.add_switch_host(vds, host); });
  }
  control::ApiResult<control::SwitchStatus> set_switch_uplink(
      const std::string& vds, const control::SwitchHost& host) override {
    return carry([this, vds, host] { return host_.set_switch_uplink(vds, host); });
  }
  control::ApiResult<control::SwitchStatus> remove_switch_host(const std::string& vds,
                                                               const std::string& host) override {
    return carry([this, vds, host] { return host_.remove_switch_host(vds, host); });
  }
  control::ApiResult<std::vector<control::SwitchStatus>> list_switches() override {
    return carry([this] { return host_.list_switches(); });
  }
  control::ApiResult<control::SwitchStatus> find_switch(const std::string& name) override {
    return carry([this, name] { return host_.find_switch(name); });
  }
  control::ApiResult<control::VmkernelConfiguration> vmkernel_configuration() override {
    return carry([this] { return host_.vmkernel_configuration(); });
  }
  control::ApiResult<control::VmknicStatus> add_vmknic(const control::Vmknic& vmknic) override {
    return carry([this, vmknic] { return host_.add_vmknic(vmknic); });
  }
  control::ApiResult<control::VmknicStatus> set_vmknic(
      const std::string& name, const control::VmknicChange& change) override {
    return carry([this, name, change] { return host_.set_vmknic(name, change); });
  }
  control::ApiResult<void> remove_vmknic(const std::string& name) override {
    return carry([this, name] { return host_.remove_vmknic(name); });
  }
  control::ApiResult<void> set_setting(const control::SettingValue& setting) override {
    return carry([this, setting] { return host_.set_setting(setting); });
  }
  control::ApiResult<void> set_ruleset(const control::FirewallRuleset& ruleset) override {
    return carry([this, ruleset] { return host_.set_ruleset(ruleset); });
  }
  control::ApiResult<control::ImpairmentStatus> set_impairment(
      const control::Impairment& impairment) override {
    return carry([this, impairment] { return host_.set_impairment(impairment); });
  }
  control::ApiResult<void> clear_impairments(const std::optional<std::string>& vm) override {
    return carry([this, vm] { return host_.clear_impairments(vm); });
  }
  control::ApiResult<std::vector<control::ImpairmentStatus>> list_impairments() override {
    return carry([this] { return host_.list_impairments(); });
  }
  control::ApiResult<std::vector<control::PhysicalNic>> list_nics() override {
    return carry([this] { return host_.list_nics(); });
  }
  control::ApiResult<std::vector<control::RdmaDevice>> list_rdma_devices() override {
    return carry([this] { return host_.list_rdma_devices(); });
  }
  control::ApiResult<control::RdmaStats> rdma_device_stats(const std::string& name) override {
    return carry([this, name] { return host_.rdma_device_stats(name); });
  }
  control::ApiResult<control::CaptureStatus> start_capture(
      const control::CaptureSpec& spec) override {
    return carry([this, spec] { return host_.start_capture(spec); });
  }
  control::ApiResult<control::CapturePackets> read_capture(std::uint64_t id) override {
    return carry([this, id] { return host_.read_capture(id); });
  }
  control::ApiResult<control::CaptureStatus> end_capture(std::uint64_t id) override {
    return carry([this, id] { return host_.end_capture(id); });
  }
  control::ApiResult<std::vector<control::CaptureStatus>> list_captures() override {
    return carry([this] { return host_.list_captures(); });
  }
  control::ApiResult<control::PortGroupStatus> create_port_group(
      const control::PortGroup& group) override {
    return carry([this, group] { return host_.create_port_group(group); });
  }
  control::ApiResult<void> delete_port_group(const std::string& name) override {
    return carry([this, name] { return host_.delete_port_group(name); });
  }
  control::ApiResult<std::vector<control::PortGroupStatus>> list_port_groups() override {
    return carry([this] { return host_.list_port_groups(); });
  }
  control::ApiResult<control::PortGroupStatus> find_port_group(const std::string& name) override {
    return carry([this, name] { return host_.find_port_group(name); });
  }

 protected:
  // Above what the control thread itself waits for a worker.
  static constexpr std::chrono::milliseconds kLimit{15'000};

  template <typename Function>
  std::invoke_result_t<Function> carry(Function function) {
    auto answer = mailbox_.ask(std::move(function), kLimit);
    if (answer) return std::move(*answer);
    return control::refuse(control::ApiErrorCode::kBusy, "the daemon did not answer in time",
                           "Ask again; see with paravane vm list what was done.");
  }

 private:
  control::Management& host_;
  Mailbox& mailbox_;
};

}  // namespace paravane::host
