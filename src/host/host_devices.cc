// Host: the NICs and RDMA devices that it has.

#include <algorithm>

#include "host/device_uses.h"
#include "host/host.h"
#include "host/refusals.h"

namespace paravane::host {

using model::ApiResult;

model::ApiResult<void> Host::open_machine() {
  machine_ = std::make_unique<MachineView>(config_.machine, *store_,
                                           [] { return std::chrono::steady_clock::now(); });
  uplink_rules_ = std::make_unique<UplinkRules>(
      *machine_,
      UplinkRules::Parts{
          .attached = [this](const std::string& vds) { return attached_in(vds); },
          .strict = [this] { return vmkernel_->number(model::kPvrdmaUplinkEdit) != 0; },
          .management =
              [this] {
                const auto& management = network_->management();
                return management ? management->interface : std::string();
              },
          .ipoib_uplinks =
              [this] { return infiniband_ ? infiniband_->uplinks() : std::vector<std::string>(); },
          .nic_of_port =
              [this](const std::string& port) {
                return infiniband_ ? infiniband_->nic_of_port(port) : std::string();
              }});
  return machine_->load();
}

// VMs that run, with an adapter in one of the switch's port groups.
std::vector<std::string> Host::attached_in(const std::string& vds) {
  std::vector<std::string> names = attached_vms();
  const auto& groups = network_->network().port_groups;
  std::erase_if(names, [&](const std::string& name) {
    const auto vm = vms_.find(name);
    return vm == vms_.end() ||
           std::ranges::none_of(vm->second.spec.adapters, [&](const auto& adapter) {
             const auto group = groups.find(adapter.port_group);
             return group != groups.end() && group->second.vds == vds;
           });
  });
  return names;
}

model::ApiResult<std::vector<model::PhysicalNic>> Host::list_nics() {
  auto machine = machine_->look();
  if (!machine) return std::unexpected(machine.error());
  return std::move(machine->nics);
}

model::ApiResult<model::NicDcb> Host::nic_dcb(const std::string& nic) {
  return machine_->dcb(nic);
}

model::ApiResult<std::vector<model::RdmaDevice>> Host::list_rdma_devices() {
  auto machine = machine_->look();
  if (!machine) return std::unexpected(machine.error());
  const auto trunks = worker_->ask([this] { return ports_->open_trunks(); });
  if (!trunks) return worker_is_busy();
  add_uses(*trunks, network_->network(), network_->host(), machine->rdma_devices);
  return std::move(machine->rdma_devices);
}

model::ApiResult<model::RdmaStats> Host::rdma_device_stats(const std::string& name) {
  return machine_->stats(name);
}

}  // namespace paravane::host
