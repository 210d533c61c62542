// HostInfiniband: the storage adapters that module ib_srp makes of the ports.

#include <fmt/core.h>

#include <algorithm>

#include "model/ib_module.h"
#include "model/storage.h"
#include "subnet_host/host_infiniband.h"

namespace paravane::subnet_host {

using model::ApiResult;

ApiResult<SrpVmhbas> HostInfiniband::srp_vmhbas() {
  SrpVmhbas made{.most_targets = modules_.value(model::kModuleSrp, model::kMaxSrpTargetsName)};
  if (!modules_.is_loaded(model::kModuleSrp)) return made;
  const std::uint32_t of_port = modules_.value(model::kModuleSrp, model::kMaxVmhbasName);
  for (const model::IbAdapter* adapter : adapters_by_bus()) {
    const auto status = status_of(*adapter);
    if (!status) return std::unexpected(status.error());
    for (const model::IbPort& port : status->ports) {
      if (port.type != model::IbPortType::kInfiniband) continue;
      for (std::uint32_t index = 0; index < of_port; ++index) {
        made.all.push_back({.adapter = adapter->name,
                            .device = adapter->device,
                            .description = status->description,
                            .port = port.number,
                            .port_guid = port.guid,
                            .index = index,
                            .is_up = port.state == model::IbPortState::kActive,
                            .problem = port.problem});
      }
    }
  }
  return made;
}

// REQUIRES: the module is loaded.
void HostInfiniband::add_vmhba_status(model::IbModuleStatus& status) const {
  std::size_t wanted = 0;
  for (const model::IbAdapter* adapter : adapters_by_bus()) {
    const model::IbAdapterTypes types = types_of(*adapter);
    wanted +=
        static_cast<std::size_t>(std::ranges::count(types.ports, model::IbPortType::kInfiniband));
  }
  wanted *= modules_.value(model::kModuleSrp, model::kMaxVmhbasName);
  const std::size_t made = std::min(wanted, model::kMaxVmhbas);
  status.summary = fmt::format("{} vmhba{}", made, made == 1 ? "" : "s");
  if (made == wanted) return;
  status.problems.push_back(fmt::format(
      "{} vmhbas of {} are not made: a host has {} at most; lower max_vmhbas with: esxcfg-module "
      "ib_srp -s 'max_vmhbas=N', then: paravane infiniband restart",
      wanted - made, wanted, model::kMaxVmhbas));
}

}  // namespace paravane::subnet_host
