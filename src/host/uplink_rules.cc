#include "host/uplink_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest_name.h"
#include "model/advanced_setting.h"

namespace paravane::host {

using model::ApiResult;

namespace {

constexpr const char* kRdmaAlone =
    "Name that NIC alone, or choose NICs without RDMA: paravane rdma device list";

const model::PhysicalNic* find_nic(const model::Machine& machine, const std::string& linux_name) {
  const auto found = std::ranges::find(machine.nics, linux_name, &model::PhysicalNic::linux_name);
  return found == machine.nics.end() ? nullptr : &*found;
}

const model::RdmaDevice* device_of(const model::Machine& machine, const std::string& linux_name) {
  const auto found =
      std::ranges::find(machine.rdma_devices, linux_name, &model::RdmaDevice::paired_link);
  return found == machine.rdma_devices.end() ? nullptr : &*found;
}

std::string shown_in(const model::Machine& machine, const std::string& linux_name) {
  const model::PhysicalNic* nic = find_nic(machine, linux_name);
  return nic == nullptr ? linux_name : model::shown_nic(*nic);
}

std::unexpected<model::ApiError> no_such_nic(const model::Machine& machine,
                                             const std::string& name) {
  if (model::is_ipoib_uplink_name(name)) {
    return model::refuse(model::ApiErrorCode::kNotFound, no_ipoib_uplink(name), kAddIbAdapter);
  }
  std::vector<std::string> names;
  names.reserve(machine.nics.size());
  for (const model::PhysicalNic& nic : machine.nics) names.push_back(nic.name);
  return model::refuse(model::ApiErrorCode::kNotFound, fmt::format("this host has no NIC {}", name),
                       do_you_mean(name, names) + "List the NICs with: paravane network nic list");
}

// A team is one uplink for the switch and several for RDMA, whose queue pairs stay on the
// port that they were made on.
model::ApiResult<void> check_no_team(const model::Machine& machine, const std::string& uplink) {
  for (const model::RdmaDevice& device : machine.rdma_devices) {
    const model::PhysicalNic* nic = find_nic(machine, device.paired_link);
    if (nic == nullptr || nic->team.empty()) continue;
    if (nic->team != uplink && nic->linux_name != uplink) continue;
    return model::refuse(
        model::ApiErrorCode::kInvalidRequest,
        fmt::format("{}, the NIC of {}, is in team {}, but PVRDMA does not support NIC teaming",
                    model::shown_nic(*nic), device.name, nic->team),
        fmt::format("Remove {} from the team (ip link set {} nomaster) and use it as the uplink, "
                    "or choose a NIC without RDMA.",
                    nic->linux_name, nic->linux_name));
  }
  return {};
}

}  // namespace

std::string no_ipoib_uplink(const std::string& uplink) {
  return fmt::format("{} is not an IPoIB uplink of this host", uplink);
}

bool UplinkRules::has_ipoib_uplink(const std::string& uplink) const {
  if (!parts_.ipoib_uplinks || !model::is_ipoib_uplink_name(uplink)) return false;
  const std::vector<std::string> there = parts_.ipoib_uplinks();
  return std::ranges::find(there, uplink) != there.end();
}

bool UplinkRules::lacks_ipoib_uplink(const std::string& uplink) const {
  if (!model::is_ipoib_uplink_name(uplink) || has_ipoib_uplink(uplink)) return false;
  const auto machine = machine_.look();
  return machine && find_nic(*machine, uplink) == nullptr;
}

model::ApiResult<std::string> UplinkRules::resolve(const std::string& name) const {
  if (name.empty() || has_ipoib_uplink(name)) return name;
  const std::string of_port = parts_.nic_of_port ? parts_.nic_of_port(name) : std::string();
  const std::string& uplink = of_port.empty() ? name : of_port;
  const auto machine = machine_.look();
  if (!machine && model::is_nic_name(uplink)) return std::unexpected(machine.error());
  if (!machine) return uplink;
  std::string linux_name = uplink;
  if (model::is_nic_name(uplink) && find_nic(*machine, uplink) == nullptr) {
    const auto named = std::ranges::find(machine->nics, uplink, &model::PhysicalNic::name);
    if (named == machine->nics.end()) return no_such_nic(*machine, uplink);
    linux_name = named->linux_name;
  }
  if (auto single = check_no_team(*machine, linux_name); !single) {
    return std::unexpected(single.error());
  }
  if (linux_name == parts_.management()) {
    return model::refuse(
        model::ApiErrorCode::kInvalidRequest,
        fmt::format("{} has an address of this host, which it would lose as an uplink",
                    shown_in(*machine, linux_name)),
        "Choose a NIC without an address: paravane network nic list");
  }
  return linux_name;
}

model::ApiResult<model::SwitchHost> UplinkRules::resolve_all(const model::SwitchHost& host) const {
  model::SwitchHost resolved{.host = host.host};
  for (const std::string& uplink : model::uplinks_of(host)) {
    auto linux_name = resolve(uplink);
    if (!linux_name) return std::unexpected(linux_name.error());
    if (resolved.uplink.empty()) {
      resolved.uplink = std::move(*linux_name);
    } else {
      resolved.standby.push_back(std::move(*linux_name));
    }
  }
  // "vmnic1" and "eth1" are one.
  if (const Status good = model::check_switch_host(resolved); !good) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest, good.error().message);
  }
  if (std::string why = why_no_team(model::uplinks_of(resolved)); !why.empty()) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest, std::move(why), kRdmaAlone);
  }
  return resolved;
}

std::string UplinkRules::why_no_team(const std::vector<std::string>& uplinks) const {
  if (uplinks.size() < 2) return {};
  const auto machine = machine_.look();  // else no RDMA device is known
  for (const std::string& uplink : uplinks) {
    const model::RdmaDevice* device = machine ? device_of(*machine, uplink) : nullptr;
    if (device == nullptr) continue;
    return fmt::format(
        "{} is the NIC of {} and must be the only uplink of its switch, because "
        "PVRDMA does not support NIC teaming",
        shown_in(*machine, uplink), device->name);
  }
  return {};
}

std::string UplinkRules::why_quiet(const std::vector<std::string>& before,
                                   const std::vector<std::string>& after) const {
  const auto machine = machine_.look();  // else no RDMA device is known
  for (const std::vector<std::string>* uplinks : {&before, &after}) {
    for (const std::string& uplink : *uplinks) {
      const model::RdmaDevice* device = machine ? device_of(*machine, uplink) : nullptr;
      if (device == nullptr) continue;
      return fmt::format("{} is the NIC of {}, so the RDMA uplink", shown_in(*machine, uplink),
                         device->name);
    }
  }
  if (!parts_.strict()) return {};
  return fmt::format("{} is 1, so the uplink", model::kPvrdmaUplinkEdit);
}

model::ApiResult<void> UplinkRules::check_edit(const std::string& vds,
                                               const std::vector<std::string>& before,
                                               const std::vector<std::string>& after) const {
  if (before == after) return {};
  const std::string why = why_quiet(before, after);
  if (why.empty()) return {};
  std::vector<std::string> attached = parts_.attached(vds);
  if (attached.empty()) return {};
  return std::unexpected(
      model::ApiError{.code = model::ApiErrorCode::kVmsAttached,
                      .message = fmt::format("{} of a host can be changed only while its VMs with "
                                             "PVRDMA adapters in the switch are off; attached: {}",
                                             why, fmt::join(attached, ", ")),
                      .remedy = "Shut down these VMs first, then change the uplink.",
                      .vms = std::move(attached)});
}

std::string UplinkRules::shown(const std::string& linux_name) const {
  const auto machine = machine_.look();
  return machine ? shown_in(*machine, linux_name) : linux_name;
}

}  // namespace paravane::host
