// HostNetwork: what it shows of this host's part of the switches, as it was last seen.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "host/host_network.h"

namespace paravane::host {

model::VmknicStatus HostNetwork::status_of(const model::Vmknic& vmknic) const {
  model::VmknicStatus status{.spec = vmknic, .interface = vmknic.name};
  const auto group = find_on_this_host(vmknic.port_group);
  if (!group) {
    status.problem = group.error().message;
    return status;
  }
  status.vds = group->vds;
  status.mtu = network_.switches.at(group->vds).mtu;
  status.problem = report_.problem;
  for (const privsep::SwitchReport::Vmknic& one : report_.vmknics) {
    if (one.name == vmknic.name) status.problem = one.problem;
  }
  return status;
}

auto HostNetwork::tap_problem(const PortUse& use) const -> TapProblem {
  if (use.port_group.empty()) return {};
  if (!network_.port_groups.contains(use.port_group)) {
    return {.text = fmt::format("port group {} does not exist", use.port_group)};
  }
  if (!report_.problem.empty()) return {.text = report_.problem, .fault = report_.fault};
  for (const privsep::SwitchReport::Tap& tap : report_.taps) {
    if (tap.vm == use.adapter.vm && tap.adapter == use.adapter.number) {
      return {.text = tap.problem, .fault = tap.fault};
    }
  }
  return {};
}

bool HostNetwork::wants_roce(const privsep::RocePortNote& port) const {
  return std::ranges::any_of(roce_ports_, [&port](const auto& known) {
    const auto& [wanted, mtu] = known;
    return wanted.vm == port.adapter.vm && wanted.adapter == port.adapter.number &&
           wanted.making == port.making && mtu == port.mtu;
  });
}

std::string HostNetwork::why_no_roce(const PortUse& use) const {
  if (use.port_group.empty()) return "the adapter is in no port group";
  const auto group = find_on_this_host(use.port_group);
  if (!group) return group.error().message;
  if (!group->native_roce) return fmt::format("port group {} has RoCE off", group->name);
  if (!model::has_native_endpoints(use.hw_version)) {
    return fmt::format("hardware version {} has no native endpoints", use.hw_version);
  }
  return tap_problem(use).text;
}

std::string HostNetwork::why_unmerged(const model::AdapterName& adapter) const {
  for (const privsep::SwitchReport::Unmerged& port : report_.unmerged) {
    if (port.vm == adapter.vm && port.adapter == adapter.number) return port.why;
  }
  return {};
}

model::ApiResult<std::vector<model::SwitchStatus>> HostNetwork::list_switches() {
  std::vector<model::SwitchStatus> list;
  list.reserve(network_.switches.size());
  for (const auto& [name, vds] : network_.switches) list.push_back(status_of(vds));
  return list;
}

model::ApiResult<model::SwitchStatus> HostNetwork::find_switch(const std::string& name) {
  const auto vds = model::find_switch(network_, name);
  if (!vds) return std::unexpected(vds.error());
  return status_of(*vds);
}

model::SwitchStatus HostNetwork::status_of(const model::DistributedSwitch& vds) const {
  model::SwitchStatus status{.spec = vds, .host = config_.host};
  for (const auto& [name, group] : network_.port_groups) {
    if (group.vds == vds.name) status.port_groups.push_back(name);
  }
  if (!vds.hosts.contains(config_.host)) return status;
  if (!report_.problem.empty()) status.problems.push_back(report_.problem);
  const auto made =
      std::ranges::find(report_.switches, vds.name, &privsep::SwitchReport::Switch::name);
  if (made == report_.switches.end()) return status;
  status.form = made->form;
  status.bridges = made->bridges;
  status.active = made->active;
  status.problems.insert(status.problems.end(), made->problems.begin(), made->problems.end());
  for (std::string& quarrel : teller_.quarrels(vds.name, std::chrono::steady_clock::now())) {
    status.problems.push_back(std::move(quarrel));
  }
  return status;
}

std::vector<metrics::SwitchMetrics> HostNetwork::metrics() const {
  std::map<std::string, std::uint64_t> in_trouble;  // taps and VMkernel interfaces, by switch
  const auto count = [&](const std::string& port_group) {
    const auto group = network_.port_groups.find(port_group);
    if (group != network_.port_groups.end()) ++in_trouble[group->second.vds];
  };
  for (const PortUse& use : uses_()) {
    const bool bad = std::ranges::any_of(report_.taps, [&use](const auto& tap) {
      return tap.vm == use.adapter.vm && tap.adapter == use.adapter.number;
    });
    if (bad) count(use.port_group);
  }
  for (const model::Vmknic& vmknic : vmknics()) {
    if (std::ranges::count(report_.vmknics, vmknic.name, &privsep::SwitchReport::Vmknic::name) != 0)
      count(vmknic.port_group);
  }
  std::vector<metrics::SwitchMetrics> all;
  for (const auto& [name, vds] : network_.switches) {
    if (!vds.hosts.contains(config_.host)) continue;
    const auto mended = teller_.counts().find(name);
    const auto failovers = teller_.failovers().find(name);
    all.push_back({.name = name,
                   .mended = mended == teller_.counts().end() ? 0 : mended->second,
                   .problems = status_of(vds).problems.size() + in_trouble[name],
                   .failovers = failovers == teller_.failovers().end() ? 0 : failovers->second});
  }
  return all;
}

model::ApiResult<std::vector<model::PortGroupStatus>> HostNetwork::list_port_groups() {
  std::vector<model::PortGroupStatus> list;
  list.reserve(network_.port_groups.size());
  for (const auto& [name, group] : network_.port_groups) list.push_back(status_of(group));
  return list;
}

model::ApiResult<model::PortGroupStatus> HostNetwork::find_port_group(const std::string& name) {
  const auto group = model::find_port_group(network_, name);
  if (!group) return std::unexpected(group.error());
  return status_of(*group);
}

model::PortGroupStatus HostNetwork::status_of(const model::PortGroup& group) const {
  model::PortGroupStatus status{.spec = group};
  for (const PortUse& use : uses_()) {
    if (use.port_group == group.name) {
      status.adapters.push_back(to_string(use.adapter));
    }
  }
  return status;
}

}  // namespace paravane::host
