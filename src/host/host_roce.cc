// Host: the RoCE ports of adapters, through which they reach native RoCE endpoints, and why an
// adapter has none.

#include <memory>
#include <utility>

#include "base/log.h"
#include "host/host.h"

namespace paravane::host {

void Host::open_roce(const privsep::RocePortNote& port, UniqueFd tap) {
  // The keeper opened it for a plan before the last one, and has removed it.
  if (!network_->wants_roce(port.adapter)) return;
  changes_.info("{}: reaches native RoCE endpoints, network MTU {}{}", to_string(port.adapter),
                port.mtu,
                port.takes_superframes ? "" : ", one packet per call (this kernel has no USO)");
  roce_ports_[port.adapter] = {.open = true, .superframes = port.takes_superframes};
  auto shared = std::make_shared<worker::RoceTap>(std::move(tap), port.takes_superframes, port.mtu);
  worker_->post([this, name = port.adapter, shared = std::move(shared)] {
    const Status opened = ports_->open_roce(name, std::move(*shared));
    if (!opened) log::warn("{}: RoCE port: {}", to_string(name), opened.error().message);
  });
}

void Host::close_roce(const model::AdapterName& adapter) {
  roce_ports_.erase(adapter);
  // The keeper cannot open a port while the engine has it. A worker that does not answer closes it
  // later.
  if (!worker_) return;
  static_cast<void>(worker_->ask([this, adapter] {
    ports_->close_roce(adapter);
    return true;
  }));
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
  const auto port = roce_ports_.find(use.adapter);
  if (port != roce_ports_.end()) return port->second;
  return {.closed = network_->why_no_roce(use)};
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

}  // namespace paravane::host
