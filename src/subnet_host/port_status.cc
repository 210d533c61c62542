#include "subnet_host/port_status.h"

#include <algorithm>

#include "model/ib_device.h"

namespace paravane::subnet_host {
namespace {

using wire::infiniband::PhysicalState;
using wire::infiniband::PortState;

model::IbPortState state_of(PortState state) {
  switch (state) {
    case PortState::kNoChange: return model::IbPortState::kUnknown;
    case PortState::kDown: return model::IbPortState::kDown;
    case PortState::kInitialize: return model::IbPortState::kInitializing;
    case PortState::kArmed: return model::IbPortState::kArmed;
    case PortState::kActive: return model::IbPortState::kActive;
  }
  return model::IbPortState::kUnknown;
}

model::IbPort port_status(const subnet::Port& port) {
  const wire::infiniband::PortInfo& info = port.info();
  model::IbPort status{
      .number = port.number(),
      .guid = port.guid(),
      .state = state_of(port.state()),
      .rate_gbps = rate_of(port),
      .lid = port.lid(),
      .sm_lid = info.master_lid.get(),
      .is_sm = (port.capabilities() & wire::infiniband::capability::kIsManager) != 0,
      .mtu = static_cast<std::uint32_t>(wire::infiniband::bytes_of(port.mtu())),
      .problem = problem_of(port)};
  for (const std::uint16_t key : port.partitions()) {
    if ((key & wire::infiniband::kPartitionMask) != 0) status.partitions.push_back(key);
  }
  return status;
}

}  // namespace

std::string problem_of(const subnet::Port& port) {
  if (port.is_active()) return {};
  if (port.physical_state() == PhysicalState::kDisabled)
    return "the port is disabled: enable it with ibportstate";
  if (port.state() == PortState::kDown) return "the link is down";
  return "no subnet manager has set this port up: start opensm";
}

std::uint32_t rate_of(const subnet::Port& port) {
  return subnet::gbit_of(static_cast<subnet::Speed>(port.info().speed_active_enabled >> 4));
}

model::IbAdapterStatus status_of(const model::IbAdapter& adapter, const subnet::HostAdapter& node) {
  model::IbAdapterStatus status{.adapter = adapter, .guid = node.identity().guid};
  if (const auto device = model::find_ib_device(adapter.device))
    status.description = device->description;
  for (subnet::PortNumber port = 1; port <= node.ports(); ++port)
    status.ports.push_back(port_status(*node.port(port)));
  return status;
}

model::IbFabric fabric_of(const std::string& host, const subnet::Subnet& subnet) {
  const subnet::SubnetSwitch& node = subnet.the_switch();
  const subnet::Port& own = *node.port(0);
  model::IbFabric fabric{.host = host,
                         .switch_guid = node.identity().guid,
                         .switch_lid = own.lid(),
                         .sm_lid = own.info().master_lid.get()};
  for (const subnet::Subnet::Linked& linked : subnet.links()) {
    const subnet::Port& port = *node.port(linked.port);
    const subnet::PortTotals& totals = port.totals();
    fabric.links.push_back({.port = linked.port,
                            .peer = linked.peer,
                            .state = state_of(port.state()),
                            .sent_packets = totals.sent_unicast + totals.sent_multicast,
                            .received_packets = totals.received_unicast + totals.received_multicast,
                            .sent_bytes = totals.sent_bytes,
                            .received_bytes = totals.received_bytes,
                            .dropped = totals.receive_errors + totals.relay_errors +
                                       totals.send_discards + totals.send_constraints +
                                       totals.receive_constraints + totals.management_dropped});
  }
  return fabric;
}

}  // namespace paravane::subnet_host
