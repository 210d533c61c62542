// Host: the RoCE ports of adapters, through which they reach native RoCE endpoints, and why an
// adapter has none.

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "host/host.h"

namespace paravane::host {

void Host::open_roce(const privsep::RocePortNote& port, UniqueFd tap) {
  // Without a descriptor in the way, the keeper opens the right one at its next look.
  if (!network_->wants_roce(port)) return;
  roce_ports_.erase(port.adapter);
  auto shared = std::make_shared<worker::RoceTap>(std::move(tap), port.takes_superframes, port.mtu);
  worker_->post([this, port, shared = std::move(shared)] {
    const Status opened = ports_->open_roce(port.adapter, std::move(*shared));
    if (config_.post) config_.post([this, port, opened] { on_roce_opened(port, opened); });
  });
}

void Host::on_roce_opened(const privsep::RocePortNote& port, const Status& opened) {
  if (!network_->wants_roce(port)) return;
  const std::string name = to_string(port.adapter);
  if (!opened) {
    forget_roce(port.adapter);
    roce_ports_[port.adapter] = {
        .closed = fmt::format("the worker cannot take its RoCE port: {}", opened.error().message)};
    changes_.error("{}: RoCE port: {}. Open it again with: paravane vds repair", name,
                   opened.error().message);
    return;
  }
  roce_ports_[port.adapter] = {.open = true, .superframes = port.takes_superframes};
  changes_.info("{}: reaches native RoCE endpoints, network MTU {}{}", name, port.mtu,
                port.takes_superframes ? "" : ", one packet per call (this kernel has no USO)");
}

void Host::on_roce_lost(const model::AdapterName& adapter) {
  if (roce_ports_.erase(adapter) == 0) return;
  changes_.warn("{}: another program has deleted its RoCE port; it is made again",
                to_string(adapter));
  forget_roce(adapter);
  network_->apply();
}

void Host::close_roce(const std::vector<model::AdapterName>& adapters) {
  for (const model::AdapterName& adapter : adapters) roce_ports_.erase(adapter);
  // The keeper cannot open a port while the engine has it. A worker that does not answer closes it
  // when it turns again.
  if (!worker_) return;
  const auto close = [this, adapters] {
    for (const model::AdapterName& adapter : adapters) ports_->close_roce(adapter);
    return true;
  };
  if (!worker_->ask(close)) worker_->post([close] { close(); });
}

void Host::forget_roce(const model::AdapterName& adapter) {
  roce_ports_.erase(adapter);
  ++makings_[adapter];
}

PortUse Host::port_use(const model::VmSpec& spec, const model::AdapterSpec& adapter) const {
  const model::AdapterName name{spec.name, adapter.number};
  return {.adapter = name,
          .port_group = adapter.port_group,
          .mac = adapter.mac,
          .making = makings_of(name),
          .hw_version = spec.hw_version};
}

model::RoceStatus Host::roce_status(const PortUse& use) const {
  // A port that is open reaches nothing while something is wrong with its rules.
  if (std::string why = network_->why_no_roce(use); !why.empty()) return {.closed = std::move(why)};
  const auto port = roce_ports_.find(use.adapter);
  if (port == roce_ports_.end()) return {};
  model::RoceStatus status = port->second;
  if (status.open) status.unmerged = network_->why_unmerged(use.adapter);
  return status;
}

model::ApiResult<void> Host::check_vmhba_ipv4(const std::string& port_group) {
  const auto group = network_->find_port_group(port_group);
  if (!group) return std::unexpected(group.error());
  if (group->spec.vlan == model::kGuestVlans) {
    return model::refuse(
        model::ApiErrorCode::kInvalidRequest,
        fmt::format("port group {} has VLAN {} (guest VLAN tagging), and a storage adapter does "
                    "not tag its frames",
                    port_group, model::kGuestVlans),
        "Choose a port group with one VLAN.");
  }
  if (group->spec.native_roce) return {};
  return model::refuse(
      model::ApiErrorCode::kInvalidRequest,
      fmt::format("port group {} has RoCE off: only targets on VMs can be reached there",
                  port_group),
      fmt::format("Choose another port group, or: paravane portgroup set {} --roce native",
                  port_group));
}

void Host::tell_roce_closed() {
  std::map<model::AdapterName, std::string> why;
  for (const auto& [name, vm] : vms_) {
    for (const model::AdapterSpec& adapter : vm.spec.adapters) {
      const PortUse use = port_use(vm.spec, adapter);
      why[use.adapter] = network_->why_no_roce(use);
    }
  }
  if (!worker_ || why == roce_closed_) return;
  roce_closed_ = why;
  worker_->post(
      [this, why = std::move(why)]() mutable { ports_->set_roce_closed(std::move(why)); });
}

void Host::tell_network_rules(const model::Network& network) {
  worker::NetworkRules rules = worker::network_rules(network);
  if (!worker_ || rules == network_rules_) return;
  network_rules_ = rules;
  worker_->post(
      [this, rules = std::move(rules)]() mutable { ports_->set_networks(std::move(rules)); });
}

}  // namespace paravane::host
