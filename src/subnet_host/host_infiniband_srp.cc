// HostInfiniband: the storage adapters that module ib_srp makes of the ports.

#include "model/ib_module.h"
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

}  // namespace paravane::subnet_host
