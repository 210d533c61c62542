// HostInfiniband: the driver modules, and the uplinks that their options make.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "model/ib_device.h"
#include "model/machine.h"
#include "subnet_host/host_infiniband.h"

namespace paravane::subnet_host {

using model::ApiResult;

namespace {

constexpr std::uint32_t kMostUplinksOfPort = 8;  // guide, 4.4.2.2, of vSphere 4

// What a number belongs to.
std::string identity_of(const std::string& adapter, std::uint32_t port, std::uint32_t index) {
  return fmt::format("{}/{}/{}", adapter, port, index);
}

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::vector<const model::IbAdapter*> HostInfiniband::adapters_by_bus() const {
  std::vector<const model::IbAdapter*> by_bus;
  for (const auto& [name, adapter] : adapters_) by_bus.push_back(&adapter);
  std::ranges::sort(by_bus, {}, [](const model::IbAdapter* adapter) { return adapter->bus; });
  return by_bus;
}

model::IbAdapterTypes HostInfiniband::types_of(const model::IbAdapter& adapter) const {
  return model::ib_port_types(modules_.options(model::kModuleMlx4), adapter);
}

std::string HostInfiniband::nic_of_port(const std::string& name) const {
  for (const auto& [adapter_name, adapter] : adapters_) {
    const model::IbAdapterTypes types = types_of(adapter);
    for (const auto& [port, nic] : adapter.ethernet) {
      if (types.is_ethernet(port) && name == model::ib_ethernet_name(adapter.bus, port)) return nic;
    }
  }
  return {};
}

void HostInfiniband::tell_types(const model::IbAdapter& adapter) {
  std::string problem = types_of(adapter).problem;
  if (problem.empty()) return;
  log_.error(std::chrono::steady_clock::now(), "{}", problem);
  if (!config_.tell) return;
  config_.tell({.type = "infiniband.port_types",
                .severity = model::Severity::kError,
                .fields = {{"adapter", adapter.name}},
                .text = std::move(problem)});
}

// ---- Uplinks ----

std::vector<HostInfiniband::Uplink> HostInfiniband::wanted_uplinks(
    const HostModules& modules, std::vector<std::string>& problems) const {
  std::vector<Uplink> wanted;
  std::size_t place = 0;  // of the port among those of InfiniBand, as lists of numbers have them
  for (const model::IbAdapter* adapter : adapters_by_bus()) {
    const model::IbDevice device = *model::find_ib_device(adapter->device);
    const model::IbAdapterTypes types =
        model::ib_port_types(modules.options(model::kModuleMlx4), *adapter);
    for (std::uint32_t port = 1; port <= device.ports; ++port) {
      if (types.is_ethernet(port)) continue;
      const std::uint32_t asked = modules.value(model::kModuleIpoib, model::kUplinkNum, place);
      const bool has_net_queue = modules.has_net_queue(device, place);
      ++place;
      if (!modules.is_loaded(model::kModuleIpoib)) continue;
      if (asked > kMostUplinksOfPort)
        problems.push_back(
            fmt::format("{} port {}: {} of the {} uplinks that are set are made: a port has at "
                        "most {}",
                        adapter->name, port, kMostUplinksOfPort, asked, kMostUplinksOfPort));
      for (std::uint32_t index = 0; index < std::min(asked, kMostUplinksOfPort); ++index)
        wanted.push_back({.name = {},
                          .adapter = adapter->name,
                          .port = port,
                          .has_net_queue = has_net_queue,
                          .identity = identity_of(adapter->name, port, index)});
    }
  }
  return wanted;
}

void HostInfiniband::number_uplinks() {
  uplink_problems_.clear();
  std::vector<Uplink> wanted = wanted_uplinks(modules_, uplink_problems_);
  std::vector<std::string> identities;
  for (const Uplink& uplink : wanted) identities.push_back(uplink.identity);
  const std::vector<std::string> names = numbers_.name(identities);
  uplinks_.clear();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i].name = names[i];
    if (!names[i].empty()) uplinks_.push_back(std::move(wanted[i]));
  }
  if (uplinks_.size() < wanted.size())
    uplink_problems_.push_back(
        fmt::format("{} of the {} uplinks of this host are made: a host has "
                    "at most {}",
                    uplinks_.size(), wanted.size(), model::kMaxIpoibUplinks));
}

std::vector<std::string> HostInfiniband::uplinks_to_lose() const {
  std::vector<std::string> texts;
  if (!config_.use_of) return texts;
  HostModules next = modules_;
  next.take_effect();
  std::vector<std::string> ignored;
  const std::vector<Uplink> made = wanted_uplinks(next, ignored);
  for (const Uplink& uplink : uplinks_) {
    const std::string vds = config_.use_of(uplink.name).vds;
    if (vds.empty() || std::ranges::find(made, uplink.identity, &Uplink::identity) != made.end())
      continue;
    texts.push_back(fmt::format(
        "the restart takes {}, which {} makes of its port {}, away from switch {}. Give "
        "the switch another uplink first: paravane vds uplink {} NIC --host {} (in a "
        "cluster: on the authority's host)",
        uplink.name, uplink.adapter, uplink.port, vds, vds, cables_.host()));
  }
  return texts;
}

void HostInfiniband::show_net_queues() {
  std::map<std::string, bool> shown;
  for (const Uplink& uplink : uplinks_) shown[uplink.name] = uplink.has_net_queue;
  net_queue_files_.show(shown);
}

// ---- InfinibandManagement ----

ApiResult<std::vector<model::IbModuleStatus>> HostInfiniband::list_ib_modules() {
  std::vector<model::IbModuleStatus> list;
  for (const model::IbModule& module : model::ib_modules())
    list.push_back(module_status(std::string(module.name)));
  return list;
}

model::IbModuleStatus HostInfiniband::module_status(const std::string& name) const {
  model::IbModuleStatus status{.name = name,
                               .setting = modules_.setting(name),
                               .in_effect = modules_.in_effect(name),
                               .is_loaded = modules_.is_loaded(name)};
  if (const std::string_view lacking = modules_.lacks(name);
      status.in_effect.is_enabled && !lacking.empty())
    status.problems.push_back(
        fmt::format("module {} is not loaded, which {} needs: enable it with: paravane infiniband "
                    "module enable {}, then: paravane infiniband restart",
                    lacking, name, lacking));
  if (status.setting != status.in_effect) status.warnings = uplinks_to_lose();
  if (name == model::kModuleMlx4) {
    for (const model::IbAdapter* adapter : adapters_by_bus()) {
      model::IbAdapterTypes types = types_of(*adapter);
      status.summary += fmt::format("{}{}:", status.summary.empty() ? "" : "; ", adapter->name);
      for (const model::IbPortType type : types.ports)
        status.summary += fmt::format(" {}", model::to_string(type));
      if (!types.problem.empty()) status.problems.push_back(std::move(types.problem));
    }
    add_port_type_problems(status);
  } else if (name == model::kModuleIpoib) {
    status.summary = counted(uplinks_.size(), "uplink");
    status.problems.insert(status.problems.end(), uplink_problems_.begin(), uplink_problems_.end());
  } else if (name == model::kModuleSrp && status.is_loaded) {
    add_vmhba_status(status);
  }
  return status;
}

void HostInfiniband::add_port_type_problems(model::IbModuleStatus& status) const {
  for (const model::IbPortTypeWish& wish : modules_.options(model::kModuleMlx4).port_types) {
    const auto is_there = [&wish](const auto& entry) { return entry.second.bus == wish.bus; };
    if (std::ranges::none_of(adapters_, is_there))
      status.problems.push_back(
          fmt::format("port_types: PCI bus {} has no InfiniBand adapter any more", wish.bus));
  }
}

ApiResult<model::IbModuleStatus> HostInfiniband::change_ib_module(
    const std::string& name, const model::IbModuleChange& change) {
  std::vector<model::IbAdapter> adapters;
  for (const auto& [adapter_name, adapter] : adapters_) adapters.push_back(adapter);
  if (auto changed = modules_.change(name, change, adapters); !changed)
    return std::unexpected(changed.error());
  if (config_.tell) {
    const model::IbModuleSetting& setting = modules_.setting(name);
    config_.tell(
        {.type = "infiniband.module.changed",
         .fields = {{"module", name}},
         .text = fmt::format("module {} was set: {}, options '{}'; in effect from the "
                             "next restart of the InfiniBand adapters on",
                             name, setting.is_enabled ? "enabled" : "disabled", setting.options)});
  }
  return module_status(name);
}

}  // namespace paravane::subnet_host
