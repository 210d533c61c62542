// FakeManagement: an operator's door to a daemon that is not there: it keeps VMs
// in a map and answers as the daemon would.
//
// One thread.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/management.h"

namespace paravane {

class FakeManagement final : public control::Management {
 public:
  control::ApiResult<control::VmStatus> add_vm(const control::VmSpec& spec) override {
    if (fault) return std::unexpected(*fault);
    if (vms.contains(spec.name)) {
      return control::refuse(control::ApiErrorCode::kExists, "vm " + spec.name + " exists already");
    }
    control::VmStatus& vm = vms[spec.name];
    vm.spec = spec;
    fill_in(vm);
    return vm;
  }

  control::ApiResult<control::VmStatus> set_vm(const std::string& name,
                                               const control::VmChange& change) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    if (is_attached(found->second)) return attached(name);
    auto changed = control::apply(change, found->second.spec);
    if (!changed) return std::unexpected(changed.error());
    found->second.spec = std::move(*changed);
    return found->second;
  }

  control::ApiResult<control::VmStatus> add_adapter(
      const std::string& name, const control::AdapterRequest& request) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    control::VmStatus& vm = found->second;
    const auto adapter = control::next_adapter(request, vm.spec);
    if (!adapter) return std::unexpected(adapter.error());
    control::VmSpec wider = vm.spec;
    control::insert_adapter(*adapter, wider);
    if (const Status good = control::check_spec(wider); !good) {
      return control::refuse(control::ApiErrorCode::kMacInUse, good.error().message);
    }
    vm.spec = std::move(wider);
    fill_in(vm);
    return vm;
  }

  control::ApiResult<control::VmStatus> remove_adapter(const std::string& name,
                                                       std::uint32_t number, bool force) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    control::VmStatus& vm = found->second;
    if (number == 1 || control::find_adapter(vm.spec, number) == nullptr) return missing(name);
    if (is_attached(vm) && !force) return attached(name);
    control::erase_adapter(number, vm.spec);
    fill_in(vm);
    return vm;
  }

  control::ApiResult<control::VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                                      bool connected) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    control::AdapterSpec* adapter = control::find_adapter(found->second.spec, number);
    if (adapter == nullptr) return missing(name);
    adapter->connected = connected;
    return found->second;
  }

  control::ApiResult<void> remove_vm(const std::string& name, bool force) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    if (is_attached(found->second) && !force) return attached(name);
    vms.erase(found);
    return {};
  }

  control::ApiResult<std::vector<control::VmStatus>> list_vms() override {
    if (fault) return std::unexpected(*fault);
    std::vector<control::VmStatus> list;
    for (const auto& [name, vm] : vms) list.push_back(vm);
    return list;
  }

  control::ApiResult<control::VmStatus> find_vm(const std::string& name) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    return found->second;
  }

  control::ApiResult<control::DaemonStatus> status() override {
    if (fault) return std::unexpected(*fault);
    return control::DaemonStatus{.version = "1.2.3",
                                 .pid = 77,
                                 .uptime_seconds = 5,
                                 .vms = vms.size(),
                                 .attached = 0,
                                 .state_dir = "/state",
                                 .socket_dir = "/sockets",
                                 .config_file = "/config",
                                 .impairments = impairments.size()};
  }

  control::ApiResult<control::Stats> stats(const std::optional<std::string>& vm) override {
    if (fault) return std::unexpected(*fault);
    if (vm && !vms.contains(*vm)) return missing(*vm);
    control::Stats stats{.daemon = {{.name = "worker", .counters = {{"rounds", "rounds", 9}}}},
                         .vms = {}};
    for (const auto& [name, known] : vms) {
      if (vm && name != *vm) continue;
      stats.vms.push_back({.name = name,
                           .groups = {{.name = "engine", .counters = {{"sends", "sends", 1}}}},
                           .objects = {.name = "objects", .counters = {}},
                           .queue_pairs = {}});
    }
    return stats;
  }

  control::ApiResult<void> stop(bool force) override {
    if (fault) return std::unexpected(*fault);
    for (const auto& [name, vm] : vms) {
      if (is_attached(vm) && !force) return attached(name);
    }
    ++stops;
    return {};
  }

  control::ApiResult<control::SwitchStatus> create_switch(
      const control::DistributedSwitch& vds) override {
    if (fault) return std::unexpected(*fault);
    if (auto free = check_new_switch(network, vds); !free) return std::unexpected(free.error());
    network.switches[vds.name] = vds;
    return find_switch(vds.name);
  }
  control::ApiResult<control::SwitchStatus> set_switch_mtu(const std::string& vds,
                                                           std::uint32_t mtu) override {
    if (auto known = control::find_switch(network, vds); !known) {
      return std::unexpected(known.error());
    }
    network.switches[vds].mtu = mtu;
    return find_switch(vds);
  }
  control::ApiResult<void> delete_switch(const std::string& vds) override {
    if (auto known = control::find_switch(network, vds); !known) {
      return std::unexpected(known.error());
    }
    if (auto unused = check_switch_unused(network, vds); !unused) return unused;
    network.switches.erase(vds);
    return {};
  }
  control::ApiResult<control::SwitchStatus> add_switch_host(
      const std::string& vds, const control::SwitchHost& host) override {
    if (auto free = check_new_host(network, vds, host); !free) return std::unexpected(free.error());
    network.switches[vds].hosts[host.host] = host.uplink;
    return find_switch(vds);
  }
  control::ApiResult<control::SwitchStatus> set_switch_uplink(
      const std::string& vds, const control::SwitchHost& host) override {
    if (auto known = find_member(vds, host.host); !known) return std::unexpected(known.error());
    if (auto free = check_uplink(network, vds, host); !free) return std::unexpected(free.error());
    network.switches[vds].hosts[host.host] = host.uplink;
    return find_switch(vds);
  }
  control::ApiResult<control::SwitchStatus> remove_switch_host(const std::string& vds,
                                                               const std::string& host) override {
    if (auto known = find_member(vds, host); !known) return std::unexpected(known.error());
    network.switches[vds].hosts.erase(host);
    return find_switch(vds);
  }
  control::ApiResult<std::vector<control::SwitchStatus>> list_switches() override {
    if (fault) return std::unexpected(*fault);
    std::vector<control::SwitchStatus> list;
    for (const auto& [name, vds] : network.switches) list.push_back(*find_switch(name));
    return list;
  }
  control::ApiResult<control::SwitchStatus> find_switch(const std::string& name) override {
    auto vds = control::find_switch(network, name);
    if (!vds) return std::unexpected(vds.error());
    return control::SwitchStatus{.spec = std::move(*vds), .host = "host1"};
  }
  control::ApiResult<control::PortGroupStatus> create_port_group(
      const control::PortGroup& group) override {
    if (auto free = check_new_port_group(network, group); !free) {
      return std::unexpected(free.error());
    }
    network.port_groups[group.name] = group;
    return find_port_group(group.name);
  }
  control::ApiResult<void> delete_port_group(const std::string& name) override {
    if (auto known = control::find_port_group(network, name); !known) {
      return std::unexpected(known.error());
    }
    network.port_groups.erase(name);
    return {};
  }
  control::ApiResult<std::vector<control::PortGroupStatus>> list_port_groups() override {
    if (fault) return std::unexpected(*fault);
    std::vector<control::PortGroupStatus> list;
    for (const auto& [name, group] : network.port_groups) list.push_back(*find_port_group(name));
    return list;
  }
  control::ApiResult<control::PortGroupStatus> find_port_group(const std::string& name) override {
    auto group = control::find_port_group(network, name);
    if (!group) return std::unexpected(group.error());
    return control::PortGroupStatus{.spec = std::move(*group)};
  }

  control::ApiResult<control::ImpairmentStatus> set_impairment(
      const control::Impairment& impairment) override {
    if (fault) return std::unexpected(*fault);
    if (!vms.contains(impairment.vm)) return missing(impairment.vm);
    std::erase_if(impairments, [&](const control::ImpairmentStatus& one) {
      return one.spec.vm == impairment.vm && one.spec.peer == impairment.peer;
    });
    return impairments.emplace_back(control::ImpairmentStatus{.spec = impairment});
  }
  control::ApiResult<void> clear_impairments(const std::optional<std::string>& vm) override {
    if (fault) return std::unexpected(*fault);
    if (vm && !vms.contains(*vm)) return missing(*vm);
    std::erase_if(impairments,
                  [&](const control::ImpairmentStatus& one) { return !vm || one.spec.vm == *vm; });
    return {};
  }
  control::ApiResult<std::vector<control::ImpairmentStatus>> list_impairments() override {
    if (fault) return std::unexpected(*fault);
    return impairments;
  }

  control::ApiResult<std::vector<control::PhysicalNic>> list_nics() override {
    if (fault) return std::unexpected(*fault);
    return machine.nics;
  }
  control::ApiResult<std::vector<control::RdmaDevice>> list_rdma_devices() override {
    if (fault) return std::unexpected(*fault);
    return machine.rdma_devices;
  }
  control::ApiResult<control::RdmaStats> rdma_device_stats(const std::string& name) override {
    if (fault) return std::unexpected(*fault);
    if (rdma_counters.name == name) return rdma_counters;
    return control::refuse(control::ApiErrorCode::kNotFound, "there is no RDMA device " + name);
  }
  control::ApiResult<control::CaptureStatus> start_capture(
      const control::CaptureSpec& spec) override {
    if (fault) return std::unexpected(*fault);
    if (!vms.contains(spec.vm)) return missing(spec.vm);
    return captures
        .emplace_back(control::CapturePackets{
            .status = {.id = ++last_capture, .spec = spec, .interfaces = {{.name = spec.vm}}},
            .blocks = {}})
        .status;
  }
  control::ApiResult<control::CapturePackets> read_capture(std::uint64_t id) override {
    if (fault) return std::unexpected(*fault);
    for (control::CapturePackets& one : captures) {
      if (one.status.id != id) continue;
      return control::CapturePackets{.status = one.status, .blocks = std::exchange(one.blocks, {})};
    }
    return missing("capture");
  }
  control::ApiResult<control::CaptureStatus> end_capture(std::uint64_t id) override {
    const auto read = read_capture(id);
    if (!read) return std::unexpected(read.error());
    std::erase_if(captures, [id](const auto& one) { return one.status.id == id; });
    return read->status;
  }
  control::ApiResult<std::vector<control::CaptureStatus>> list_captures() override {
    if (fault) return std::unexpected(*fault);
    std::vector<control::CaptureStatus> list;
    for (const control::CapturePackets& one : captures) list.push_back(one.status);
    return list;
  }

  control::ApiResult<control::VmkernelConfiguration> vmkernel_configuration() override {
    if (fault) return std::unexpected(*fault);
    return configuration;
  }
  control::ApiResult<control::VmknicStatus> add_vmknic(const control::Vmknic& vmknic) override {
    if (fault) return std::unexpected(*fault);
    return configuration.vmknics.emplace_back(control::VmknicStatus{.spec = vmknic});
  }
  control::ApiResult<control::VmknicStatus> set_vmknic(
      const std::string& name, const control::VmknicChange& change) override {
    if (fault) return std::unexpected(*fault);
    for (control::VmknicStatus& vmknic : configuration.vmknics) {
      if (vmknic.spec.name != name) continue;
      vmknic.spec.ipv4 = change.ipv4;
      return vmknic;
    }
    return missing(name);
  }
  control::ApiResult<void> remove_vmknic(const std::string& name) override {
    if (fault) return std::unexpected(*fault);
    const auto gone = std::erase_if(configuration.vmknics,
                                    [&](const auto& one) { return one.spec.name == name; });
    if (gone == 0) return missing(name);
    return {};
  }
  control::ApiResult<void> set_setting(const control::SettingValue& setting) override {
    if (fault) return std::unexpected(*fault);
    configuration.settings = {setting};
    return {};
  }
  control::ApiResult<void> set_ruleset(const control::FirewallRuleset& ruleset) override {
    if (fault) return std::unexpected(*fault);
    configuration.rulesets = {ruleset};
    return {};
  }

  std::map<std::string, control::VmStatus> vms;
  control::VmkernelConfiguration configuration;
  std::vector<control::CapturePackets> captures;
  std::uint64_t last_capture = 0;
  control::Machine machine;
  control::RdmaStats rdma_counters;  // of the device of this name
  std::vector<control::ImpairmentStatus> impairments;
  control::Network network;
  unsigned stops = 0;
  std::optional<control::ApiError> fault;  // the answer to everything

 private:
  static bool is_attached(const control::VmStatus& vm) {
    return std::ranges::any_of(vm.adapters, [](const control::AdapterStatus& adapter) {
      return adapter.state != control::VmState::kDetached;
    });
  }
  static void fill_in(control::VmStatus& vm) {
    vm.adapters.resize(vm.spec.adapters.size());
    for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
      control::AdapterSpec& adapter = vm.spec.adapters[i];
      const std::string name = control::adapter_name(vm.spec.name, adapter.number);
      if (!adapter.mac) adapter.mac = control::mac_for_name(name);
      vm.adapters[i].socket =
          "/run/paravane/vm/" + control::socket_file(vm.spec.name, adapter.number);
    }
  }
  static std::unexpected<control::ApiError> missing(const std::string& name) {
    return control::refuse(control::ApiErrorCode::kNotFound, "there is no vm " + name);
  }
  control::ApiResult<void> find_member(const std::string& vds, const std::string& host) const {
    const auto known = control::find_switch(network, vds);
    if (!known) return std::unexpected(known.error());
    if (known->hosts.contains(host)) return {};
    return control::refuse(control::ApiErrorCode::kNotFound, host + " is not in switch " + vds);
  }
  static std::unexpected<control::ApiError> attached(const std::string& name) {
    return std::unexpected(control::ApiError{.code = control::ApiErrorCode::kVmsAttached,
                                             .message = "vm " + name + " is attached",
                                             .remedy = "Shut it down.",
                                             .vms = {name}});
  }
};

}  // namespace paravane
