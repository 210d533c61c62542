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

#include "model/adapter_name.h"
#include "model/ib_device.h"
#include "model/ib_module.h"
#include "model/lun_disk.h"
#include "model/management.h"

namespace paravane {

class FakeManagement final : public model::Management {
 public:
  model::ApiResult<model::VmStatus> add_vm(const model::VmSpec& spec) override {
    if (fault) return std::unexpected(*fault);
    if (vms.contains(spec.name)) {
      return model::refuse(model::ApiErrorCode::kExists, "vm " + spec.name + " already exists");
    }
    if (auto free = model::check_luns(spec, specs()); !free) return std::unexpected(free.error());
    model::VmStatus& vm = vms[spec.name];
    vm.spec = spec;
    fill_in(vm);
    return vm;
  }

  model::ApiResult<model::VmStatus> set_vm(const std::string& name,
                                           const model::VmChange& change) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    if (is_attached(found->second)) return attached(name);
    auto changed = model::apply(change, found->second.spec);
    if (!changed) return std::unexpected(changed.error());
    if (auto free = model::check_luns(*changed, specs()); !free)
      return std::unexpected(free.error());
    found->second.spec = std::move(*changed);
    return found->second;
  }

  model::ApiResult<model::VmStatus> add_adapter(const std::string& name,
                                                const model::AdapterRequest& request) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    model::VmStatus& vm = found->second;
    const auto adapter = model::next_adapter(request, vm.spec);
    if (!adapter) return std::unexpected(adapter.error());
    model::VmSpec wider = vm.spec;
    model::insert_adapter(*adapter, wider);
    if (const Status good = model::check_spec(wider); !good) {
      return model::refuse(model::ApiErrorCode::kMacInUse, good.error().message);
    }
    vm.spec = std::move(wider);
    fill_in(vm);
    return vm;
  }

  model::ApiResult<model::VmStatus> remove_adapter(const std::string& name, std::uint32_t number,
                                                   bool force) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    model::VmStatus& vm = found->second;
    if (number == 1 || model::find_adapter(vm.spec, number) == nullptr) return missing(name);
    if (is_attached(vm) && !force) return attached(name);
    model::erase_adapter(number, vm.spec);
    fill_in(vm);
    return vm;
  }

  model::ApiResult<model::VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                                  bool connected) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    model::AdapterSpec* adapter = model::find_adapter(found->second.spec, number);
    if (adapter == nullptr) return missing(name);
    adapter->connected = connected;
    return found->second;
  }

  model::ApiResult<void> remove_vm(const std::string& name, bool force) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    if (is_attached(found->second) && !force) return attached(name);
    vms.erase(found);
    return {};
  }

  model::ApiResult<std::vector<model::VmStatus>> list_vms() override {
    if (fault) return std::unexpected(*fault);
    std::vector<model::VmStatus> list;
    for (const auto& [name, vm] : vms) list.push_back(vm);
    return list;
  }

  model::ApiResult<model::VmStatus> find_vm(const std::string& name) override {
    if (fault) return std::unexpected(*fault);
    const auto found = vms.find(name);
    if (found == vms.end()) return missing(name);
    return found->second;
  }

  model::ApiResult<model::DaemonStatus> status() override {
    if (fault) return std::unexpected(*fault);
    return model::DaemonStatus{.version = "1.2.3",
                               .pid = 77,
                               .uptime_seconds = 5,
                               .vms = vms.size(),
                               .attached = 0,
                               .state_dir = "/state",
                               .socket_dir = "/sockets",
                               .config_file = "/config",
                               .impairments = impairments.size()};
  }

  model::ApiResult<model::Stats> stats(const std::optional<std::string>& vm) override {
    if (fault) return std::unexpected(*fault);
    if (vm && !vms.contains(*vm)) return missing(*vm);
    model::Stats stats{.daemon = {{.name = "worker", .counters = {{"rounds", "rounds", 9}}}},
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

  model::ApiResult<void> upgrade(bool only_check) override {
    if (fault) return std::unexpected(*fault);
    upgrades.push_back(only_check);
    return {};
  }

  model::ApiResult<void> stop(bool force) override {
    if (fault) return std::unexpected(*fault);
    for (const auto& [name, vm] : vms) {
      if (is_attached(vm) && !force) return attached(name);
    }
    ++stops;
    return {};
  }

  model::ApiResult<model::SwitchStatus> create_switch(
      const model::DistributedSwitch& vds) override {
    if (fault) return std::unexpected(*fault);
    if (auto free = model::check_new_switch(network, vds); !free)
      return std::unexpected(free.error());
    network.switches[vds.name] = vds;
    return find_switch(vds.name);
  }
  model::ApiResult<model::SwitchStatus> set_switch_mtu(const std::string& vds,
                                                       std::uint32_t mtu) override {
    if (auto known = model::find_switch(network, vds); !known) {
      return std::unexpected(known.error());
    }
    network.switches[vds].mtu = mtu;
    return find_switch(vds);
  }
  model::ApiResult<void> delete_switch(const std::string& vds) override {
    if (auto known = model::find_switch(network, vds); !known) {
      return std::unexpected(known.error());
    }
    if (auto unused = model::check_switch_unused(network, vds); !unused) return unused;
    network.switches.erase(vds);
    return {};
  }
  model::ApiResult<model::SwitchStatus> add_switch_host(const std::string& vds,
                                                        const model::SwitchHost& host) override {
    if (auto free = model::check_new_host(network, vds, host); !free)
      return std::unexpected(free.error());
    network.switches[vds].hosts[host.host] = host.uplink;
    return find_switch(vds);
  }
  model::ApiResult<model::SwitchStatus> set_switch_uplink(const std::string& vds,
                                                          const model::SwitchHost& host) override {
    if (auto known = find_member(vds, host.host); !known) return std::unexpected(known.error());
    if (auto free = model::check_uplink(network, vds, host); !free)
      return std::unexpected(free.error());
    network.switches[vds].hosts[host.host] = host.uplink;
    return find_switch(vds);
  }
  model::ApiResult<model::SwitchStatus> remove_switch_host(const std::string& vds,
                                                           const std::string& host) override {
    if (auto known = find_member(vds, host); !known) return std::unexpected(known.error());
    network.switches[vds].hosts.erase(host);
    return find_switch(vds);
  }
  model::ApiResult<std::vector<model::SwitchStatus>> list_switches() override {
    if (fault) return std::unexpected(*fault);
    std::vector<model::SwitchStatus> list;
    for (const auto& [name, vds] : network.switches) list.push_back(*find_switch(name));
    return list;
  }
  // One interface of each switch was wrong.
  model::ApiResult<model::SwitchRepair> repair_switches() override {
    if (fault) return std::unexpected(*fault);
    ++repairs;
    model::SwitchRepair repair{.switches = *list_switches()};
    for (const auto& [name, vds] : network.switches) {
      repair.mended.push_back({.vds = name, .interface = "pvs-" + name, .text = "it was down"});
    }
    return repair;
  }
  model::ApiResult<model::SwitchStatus> find_switch(const std::string& name) override {
    auto vds = model::find_switch(network, name);
    if (!vds) return std::unexpected(vds.error());
    return model::SwitchStatus{.spec = std::move(*vds), .host = "host1"};
  }
  model::ApiResult<model::PortGroupStatus> create_port_group(
      const model::PortGroup& group) override {
    if (auto free = model::check_new_port_group(network, group); !free) {
      return std::unexpected(free.error());
    }
    network.port_groups[group.name] = group;
    return find_port_group(group.name);
  }
  model::ApiResult<model::PortGroupStatus> change_port_group(
      const std::string& name, const model::PortGroupChange& change) override {
    if (auto known = model::find_port_group(network, name); !known) {
      return std::unexpected(known.error());
    }
    model::PortGroup& group = network.port_groups[name];
    group = model::changed(group, change);
    return find_port_group(name);
  }
  model::ApiResult<void> delete_port_group(const std::string& name) override {
    if (auto known = model::find_port_group(network, name); !known) {
      return std::unexpected(known.error());
    }
    network.port_groups.erase(name);
    return {};
  }
  model::ApiResult<std::vector<model::PortGroupStatus>> list_port_groups() override {
    if (fault) return std::unexpected(*fault);
    std::vector<model::PortGroupStatus> list;
    for (const auto& [name, group] : network.port_groups) list.push_back(*find_port_group(name));
    return list;
  }
  model::ApiResult<model::PortGroupStatus> find_port_group(const std::string& name) override {
    auto group = model::find_port_group(network, name);
    if (!group) return std::unexpected(group.error());
    return model::PortGroupStatus{.spec = std::move(*group)};
  }

  model::ApiResult<model::ImpairmentStatus> set_impairment(
      const model::Impairment& impairment) override {
    if (fault) return std::unexpected(*fault);
    if (!vms.contains(impairment.vm)) return missing(impairment.vm);
    std::erase_if(impairments, [&](const model::ImpairmentStatus& one) {
      return one.spec.vm == impairment.vm && one.spec.peer == impairment.peer;
    });
    return impairments.emplace_back(model::ImpairmentStatus{.spec = impairment});
  }
  model::ApiResult<void> clear_impairments(const std::optional<std::string>& vm) override {
    if (fault) return std::unexpected(*fault);
    if (vm && !vms.contains(*vm)) return missing(*vm);
    std::erase_if(impairments,
                  [&](const model::ImpairmentStatus& one) { return !vm || one.spec.vm == *vm; });
    return {};
  }
  model::ApiResult<std::vector<model::ImpairmentStatus>> list_impairments() override {
    if (fault) return std::unexpected(*fault);
    return impairments;
  }

  model::ApiResult<std::vector<model::PhysicalNic>> list_nics() override {
    if (fault) return std::unexpected(*fault);
    return machine.nics;
  }
  model::ApiResult<model::NicDcb> nic_dcb(const std::string& nic) override {
    if (fault) return std::unexpected(*fault);
    if (dcb.name == nic) return dcb;
    return model::refuse(model::ApiErrorCode::kNotFound, "this host has no NIC " + nic);
  }
  model::ApiResult<std::vector<model::RdmaDevice>> list_rdma_devices() override {
    if (fault) return std::unexpected(*fault);
    return machine.rdma_devices;
  }
  model::ApiResult<model::RdmaStats> rdma_device_stats(const std::string& name) override {
    if (fault) return std::unexpected(*fault);
    if (rdma_counters.name == name) return rdma_counters;
    return model::refuse(model::ApiErrorCode::kNotFound, "RDMA device " + name + " does not exist");
  }
  bool has_ib_uplink(const std::string& name) const {
    return std::ranges::find(ib_uplinks, name, &model::IbUplink::name) != ib_uplinks.end();
  }
  model::ApiResult<model::CaptureStatus> start_capture(const model::CaptureSpec& spec) override {
    if (fault) return std::unexpected(*fault);
    const bool is_known = spec.uplink.empty() ? vms.contains(spec.vm) : has_ib_uplink(spec.uplink);
    if (!is_known) return missing(captured(spec));
    return captures
        .emplace_back(model::CapturePackets{.status = {.id = ++last_capture,
                                                       .spec = spec,
                                                       .interfaces = {{.name = captured(spec)}}},
                                            .blocks = {}})
        .status;
  }
  model::ApiResult<model::CapturePackets> read_capture(std::uint64_t id) override {
    if (fault) return std::unexpected(*fault);
    for (model::CapturePackets& one : captures) {
      if (one.status.id != id) continue;
      return model::CapturePackets{.status = one.status, .blocks = std::exchange(one.blocks, {})};
    }
    return missing("capture");
  }
  model::ApiResult<model::CaptureStatus> end_capture(std::uint64_t id) override {
    const auto read = read_capture(id);
    if (!read) return std::unexpected(read.error());
    std::erase_if(captures, [id](const auto& one) { return one.status.id == id; });
    return read->status;
  }
  model::ApiResult<std::vector<model::CaptureStatus>> list_captures() override {
    if (fault) return std::unexpected(*fault);
    std::vector<model::CaptureStatus> list;
    for (const model::CapturePackets& one : captures) list.push_back(one.status);
    return list;
  }

  model::ApiResult<model::VmkernelConfiguration> vmkernel_configuration() override {
    if (fault) return std::unexpected(*fault);
    return configuration;
  }
  model::ApiResult<model::VmknicStatus> add_vmknic(const model::Vmknic& vmknic) override {
    if (fault) return std::unexpected(*fault);
    return configuration.vmknics.emplace_back(model::VmknicStatus{.spec = vmknic});
  }
  model::ApiResult<model::VmknicStatus> set_vmknic(const std::string& name,
                                                   const model::VmknicChange& change) override {
    if (fault) return std::unexpected(*fault);
    for (model::VmknicStatus& vmknic : configuration.vmknics) {
      if (vmknic.spec.name != name) continue;
      vmknic.spec.ipv4 = change.ipv4;
      return vmknic;
    }
    return missing(name);
  }
  model::ApiResult<void> remove_vmknic(const std::string& name) override {
    if (fault) return std::unexpected(*fault);
    const auto gone = std::erase_if(configuration.vmknics,
                                    [&](const auto& one) { return one.spec.name == name; });
    if (gone == 0) return missing(name);
    return {};
  }
  model::ApiResult<void> set_setting(const model::SettingValue& setting) override {
    if (fault) return std::unexpected(*fault);
    configuration.settings = {setting};
    return {};
  }
  model::ApiResult<void> set_ruleset(const model::FirewallRuleset& ruleset) override {
    if (fault) return std::unexpected(*fault);
    configuration.rulesets = {ruleset};
    return {};
  }

  model::ApiResult<std::vector<model::IbAdapterStatus>> list_ib_adapters() override {
    if (fault) return std::unexpected(*fault);
    std::vector<model::IbAdapterStatus> list;
    for (const auto& [name, adapter] : ib_adapters) list.push_back(adapter);
    return list;
  }
  // Its ports have no subnet manager yet.
  model::ApiResult<model::IbAdapterStatus> add_ib_adapter(
      const model::IbAdapter& adapter) override {
    if (fault) return std::unexpected(*fault);
    for (const auto& [name, known] : ib_adapters) {
      if (name != adapter.name && known.adapter.bus != adapter.bus) continue;
      return model::refuse(model::ApiErrorCode::kExists,
                           "InfiniBand adapter " + name + " has that name or bus");
    }
    const auto device = model::find_ib_device(adapter.device);
    if (!device) return model::refuse(model::ApiErrorCode::kInternal, "unknown device");
    model::IbAdapterStatus status{.adapter = adapter,
                                  .description = std::string(device->description),
                                  .guid = kIbGuid + (std::uint64_t{adapter.bus} << 8U)};
    for (std::uint32_t number = 1; number <= device->ports; ++number) {
      status.ports.push_back({.number = number,
                              .guid = status.guid + number,
                              .state = model::IbPortState::kInitializing,
                              .rate_gbps = device->rate_gbps,
                              .mtu = device->mtu,
                              .partitions = {0xffff},
                              .problem = "no subnet manager"});
    }
    return ib_adapters[adapter.name] = std::move(status);
  }
  model::ApiResult<void> remove_ib_adapter(const std::string& name) override {
    if (fault) return std::unexpected(*fault);
    if (ib_adapters.erase(name) != 0) return {};
    return model::refuse(model::ApiErrorCode::kNotFound,
                         "InfiniBand adapter " + name + " does not exist");
  }
  model::ApiResult<std::vector<model::IbUplink>> list_ib_uplinks() override {
    if (fault) return std::unexpected(*fault);
    return ib_uplinks;
  }
  model::ApiResult<model::IbFabric> ib_fabric() override {
    if (fault) return std::unexpected(*fault);
    return fabric;
  }
  model::ApiResult<std::vector<model::IbManager>> list_ib_managers() override {
    if (fault) return std::unexpected(*fault);
    return ib_managers;
  }
  model::ApiResult<void> add_ib_manager(const std::string& host) override {
    if (fault) return std::unexpected(*fault);
    ib_managers.push_back({.host = host, .problem = ib_manager_problem});
    return {};
  }
  model::ApiResult<void> remove_ib_manager(const std::string& host) override {
    if (fault) return std::unexpected(*fault);
    if (std::erase(ib_managers, model::IbManager{.host = host}) != 0) return {};
    return model::refuse(model::ApiErrorCode::kNotFound,
                         "host " + host + " is not heard as a subnet manager");
  }
  model::ApiResult<std::vector<model::IbModuleStatus>> list_ib_modules() override {
    if (fault) return std::unexpected(*fault);
    return ib_modules;
  }
  model::ApiResult<model::IbModuleStatus> change_ib_module(
      const std::string& name, const model::IbModuleChange& change) override {
    if (fault) return std::unexpected(*fault);
    const auto found = std::ranges::find(ib_modules, name, &model::IbModuleStatus::name);
    if (found == ib_modules.end())
      return model::refuse(model::ApiErrorCode::kNotFound, "there is no module '" + name + "'");
    const auto options = model::parse_ib_options(*model::find_ib_module(name),
                                                 change.options.value_or(found->setting.options));
    if (!options)
      return model::refuse(model::ApiErrorCode::kInvalidRequest, options.error().message);
    if (change.is_enabled) found->setting.is_enabled = *change.is_enabled;
    if (change.options) found->setting.options = *change.options;
    return *found;
  }
  model::ApiResult<void> restart_infiniband() override {
    if (fault) return std::unexpected(*fault);
    ++ib_restarts;
    return {};
  }

  model::ApiResult<std::vector<model::Vmhba>> list_vmhbas() override {
    if (fault) return std::unexpected(*fault);
    return vmhbas;
  }
  model::ApiResult<model::Vmhba> set_vmhba(const std::string& name,
                                           const model::VmhbaSetting& setting) override {
    if (fault) return std::unexpected(*fault);
    const auto found = std::ranges::find(vmhbas, name, &model::Vmhba::name);
    if (found == vmhbas.end()) return no_vmhba(name);
    found->setting = setting;
    return *found;
  }
  model::ApiResult<void> rescan(const std::optional<std::string>& vmhba) override {
    if (fault) return std::unexpected(*fault);
    const bool is_known =
        !vmhba || std::ranges::find(vmhbas, *vmhba, &model::Vmhba::name) != vmhbas.end();
    if (!is_known) return no_vmhba(*vmhba);
    rescans.push_back(vmhba.value_or("all"));
    return {};
  }
  model::ApiResult<bool> is_scanning(const std::optional<std::string>& /*vmhba*/) override {
    if (fault) return std::unexpected(*fault);
    return scans_left > 0 && scans_left-- > 0;
  }
  model::ApiResult<std::vector<model::SrpTargetStatus>> list_srp_targets() override {
    if (fault) return std::unexpected(*fault);
    return srp_targets;
  }
  model::ApiResult<void> add_srp_target(const model::SrpTarget& target) override {
    if (fault) return std::unexpected(*fault);
    if (std::ranges::find(vmhbas, target.vmhba, &model::Vmhba::name) == vmhbas.end())
      return no_vmhba(target.vmhba);
    std::uint32_t number = 0;
    for (const model::SrpTargetStatus& one : srp_targets) {
      if (one.target == target)
        return model::refuse(model::ApiErrorCode::kExists,
                             "the target is there: " + describe(target));
      if (one.target.vmhba == target.vmhba) number = one.number + 1;
    }
    srp_targets.push_back({.target = target, .number = number, .is_named = true});
    return {};
  }
  model::ApiResult<void> remove_srp_target(const std::string& vmhba, std::uint32_t number,
                                           bool force) override {
    if (fault) return std::unexpected(*fault);
    const auto found = std::ranges::find_if(srp_targets, [&](const model::SrpTargetStatus& one) {
      return one.is_named && one.target.vmhba == vmhba && one.number == number;
    });
    if (found == srp_targets.end())
      return model::refuse(model::ApiErrorCode::kNotFound,
                           vmhba + " has no named target " + std::to_string(number));
    if (found->luns != 0 && !force)
      return model::refuse(model::ApiErrorCode::kInUse, "a VM's disk has no other path");
    srp_targets.erase(found);
    return {};
  }
  model::ApiResult<std::vector<model::ScsiDevice>> list_scsi_devices() override {
    if (fault) return std::unexpected(*fault);
    return scsi_devices;
  }
  model::ApiResult<std::vector<model::LunPath>> list_lun_paths() override {
    if (fault) return std::unexpected(*fault);
    return lun_paths;
  }

  std::vector<model::Vmhba> vmhbas;
  std::vector<model::SrpTargetStatus> srp_targets;
  std::vector<model::ScsiDevice> scsi_devices;
  std::vector<model::LunPath> lun_paths;
  unsigned scans_left = 0;           // how often is_scanning() says so
  std::vector<std::string> rescans;  // that were asked for: a vmhba, or "all"
  std::map<std::string, model::IbAdapterStatus> ib_adapters;
  std::vector<model::IbUplink> ib_uplinks;
  std::vector<model::IbModuleStatus> ib_modules{{.name = "mlx4_en"}, {.name = "ib_ipoib"}};
  model::IbFabric fabric;
  std::vector<model::IbManager> ib_managers;
  std::string ib_manager_problem;  // of those that are added
  unsigned ib_restarts = 0;
  std::map<std::string, model::VmStatus> vms;
  model::VmkernelConfiguration configuration;
  std::vector<model::CapturePackets> captures;
  std::uint64_t last_capture = 0;
  model::Machine machine;
  model::NicDcb dcb;               // of the NIC of this name
  model::RdmaStats rdma_counters;  // of the device of this name
  std::vector<model::ImpairmentStatus> impairments;
  model::Network network;
  unsigned stops = 0;
  unsigned repairs = 0;
  std::vector<bool> upgrades;            // that were asked for: whether only a check
  std::optional<model::ApiError> fault;  // the answer to everything

 private:
  static constexpr std::uint64_t kIbGuid = 0x0250560001a20000;
  static bool is_attached(const model::VmStatus& vm) {
    return std::ranges::any_of(vm.adapters, [](const model::AdapterStatus& adapter) {
      return adapter.state != model::VmState::kDetached;
    });
  }
  static void fill_in(model::VmStatus& vm) {
    vm.adapters.resize(vm.spec.adapters.size());
    for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
      model::AdapterSpec& adapter = vm.spec.adapters[i];
      const std::string name = to_string(model::AdapterName{vm.spec.name, adapter.number});
      if (!adapter.mac) adapter.mac = model::mac_for_name(name);
      vm.adapters[i].socket =
          "/run/paravane/vm/" + model::socket_file(vm.spec.name, adapter.number);
    }
  }
  std::vector<model::VmSpec> specs() const {
    std::vector<model::VmSpec> list;
    for (const auto& [name, vm] : vms) list.push_back(vm.spec);
    return list;
  }
  static std::unexpected<model::ApiError> no_vmhba(const std::string& name) {
    return model::refuse(model::ApiErrorCode::kNotFound,
                         "this host has no storage adapter " + name);
  }
  static std::unexpected<model::ApiError> missing(const std::string& name) {
    return model::refuse(model::ApiErrorCode::kNotFound, "vm " + name + " does not exist");
  }
  model::ApiResult<void> find_member(const std::string& vds, const std::string& host) const {
    const auto known = model::find_switch(network, vds);
    if (!known) return std::unexpected(known.error());
    if (known->hosts.contains(host)) return {};
    return model::refuse(model::ApiErrorCode::kNotFound, host + " is not in switch " + vds);
  }
  static std::unexpected<model::ApiError> attached(const std::string& name) {
    return std::unexpected(model::ApiError{.code = model::ApiErrorCode::kVmsAttached,
                                           .message = "vm " + name + " is attached",
                                           .remedy = "Shut it down.",
                                           .vms = {name}});
  }
};

}  // namespace paravane
