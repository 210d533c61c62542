#include "subnet_host/port_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

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

constexpr const char* kNoManager = "no subnet manager has set this port up: start opensm";
constexpr std::string_view kHostPeer = "host ";  // before a host's name in Subnet::Linked::peer

// Where a program of this host is a subnet manager: "mlx4_0 port 1"; empty: nowhere.
std::string own_manager(const subnet::Subnet& subnet) {
  for (const subnet::HostAdapter* node : subnet.adapters()) {
    for (subnet::PortNumber port = 1; port <= node->ports(); ++port) {
      const std::uint32_t abilities = node->port(port)->capabilities();
      if ((abilities & wire::infiniband::capability::kIsManager) != 0)
        return fmt::format("{} port {}", node->name(), port);
    }
  }
  return {};
}

// The first host to which a cable leads that is up and has this property; empty: none.
template <typename Property>
std::string host_beyond_cable(const subnet::Subnet& subnet, const Property& has) {
  for (const subnet::Subnet::Linked& link : subnet.links()) {
    const bool is_up = subnet.the_switch().port(link.port)->state() != PortState::kDown;
    if (link.peer.starts_with(kHostPeer) && is_up && has(link.port))
      return link.peer.substr(kHostPeer.size());
  }
  return {};
}

// Why no manager has set a port up, and what to do: one of this host, or one that is heard, may
// only have to look again, and one of another host may not be heard here.
std::string lack_of_manager(const subnet::Subnet& subnet, bool awaits_manager) {
  const subnet::SubnetSwitch& node = subnet.the_switch();
  const std::string unheard = host_beyond_cable(
      subnet, [&node](subnet::PortNumber port) { return node.refuses_manager(port); });
  if (const std::string own = own_manager(subnet); !own.empty()) {
    std::string text = fmt::format(
        "no subnet manager has set this port up yet: the one at {} does when it looks at the "
        "subnet, every 10 s unless it is set otherwise",
        own);
    if (!unheard.empty())
      text += fmt::format("; if it stands by for the one of host {}: paravane infiniband sm add {}",
                          unheard, unheard);
    return text;
  }
  if (awaits_manager)
    return "no subnet manager has set this port up yet: the one that ran at this host before the "
           "restart does, when it is connected again";
  const std::string heard =
      host_beyond_cable(subnet, [&node](subnet::PortNumber port) { return node.may_manage(port); });
  if (!heard.empty())
    return fmt::format(
        "no subnet manager has set this port up yet: one of host {} does, if opensm runs there",
        heard);
  if (unheard.empty()) return kNoManager;
  return fmt::format(
      "no subnet manager has set this port up, and host {} is not heard as one: to let it manage "
      "this host, paravane infiniband sm add {}",
      unheard, unheard);
}

// What enables a port of the switch again. Without a LID, and from a host whose ports are all down,
// no program reaches it.
std::string enabling(const subnet::Subnet& subnet, subnet::PortNumber port) {
  const std::uint16_t lid = subnet.the_switch().port(0)->lid();
  const bool reaches = std::ranges::any_of(subnet.adapters(), [](const auto* adapter) {
    for (subnet::PortNumber number = 1; number <= adapter->ports(); ++number) {
      if (!adapter->port(number)->is_down()) return true;
    }
    return false;
  });
  if (lid == 0 || !reaches) return "paravane infiniband restart";
  return fmt::format("paravane infiniband run -- ibportstate {} {} enable", lid, port);
}

std::string enabling(const subnet::HostAdapter& node, subnet::PortNumber port) {
  return fmt::format("paravane infiniband run -- ibportstate -C {} -P {} -D 0 {} enable",
                     node.name(), port, port);
}

// By port of the switch: why its link is down, where that was ordered at either end.
std::map<subnet::PortNumber, std::string> orders_of(const subnet::Subnet& subnet,
                                                    const HostCables& cables) {
  std::map<subnet::PortNumber, std::string> problems;
  const subnet::SubnetSwitch& node = subnet.the_switch();
  for (const subnet::HostAdapter* adapter : subnet.adapters()) {
    for (subnet::PortNumber port = 1; port <= adapter->ports(); ++port) {
      const auto place = subnet.switch_port_of(adapter->name(), port);
      if (place && adapter->port(port)->is_disabled())
        problems[*place] = fmt::format("{} port {} is disabled. Enable it with: {}",
                                       adapter->name(), port, enabling(*adapter, port));
    }
  }
  for (const subnet::Subnet::Linked& link : subnet.links()) {
    if (link.peer.starts_with(kHostPeer)) {
      const std::string host = link.peer.substr(kHostPeer.size());
      if (cables.other_end_is_down(host))
        problems[link.port] = fmt::format(
            "the port at host {} is disabled. Enable it there, as this says on {}: paravane "
            "infiniband fabric list",
            host, host);
    }
    if (node.port(link.port)->is_disabled())
      problems[link.port] = fmt::format("this port of the switch is disabled. Enable it with: {}",
                                        enabling(subnet, link.port));
  }
  return problems;
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
      .mtu = static_cast<std::uint32_t>(wire::infiniband::bytes_of(port.mtu()))};
  for (const std::uint16_t key : port.partitions()) {
    if ((key & wire::infiniband::kPartitionMask) != 0) status.partitions.push_back(key);
  }
  return status;
}

void add_ethernet(const model::IbAdapter& adapter, model::IbPort& port) {
  port.type = model::IbPortType::kEthernet;
  port.problem.clear();
  if (const auto nic = adapter.ethernet.find(port.number); nic != adapter.ethernet.end()) {
    port.nic = nic->second;
  } else {
    port.problem = fmt::format(
        "the port is Ethernet and stands for no NIC: add the adapter again with --ethernet {}=NIC",
        port.number);
  }
}

}  // namespace

std::string problem_of(const subnet::Port& port) {
  if (port.is_active()) return {};
  if (port.physical_state() == PhysicalState::kDisabled)
    return "the port is disabled: enable it with ibportstate";
  if (port.is_down()) return "the link is down";
  return kNoManager;
}

std::string problem_of(const subnet::Subnet& subnet, const subnet::HostAdapter& node,
                       subnet::PortNumber port, bool awaits_manager) {
  const subnet::Port& own = *node.port(port);
  if (own.is_active()) return {};
  if (own.is_disabled())
    return fmt::format("the port is disabled. Enable it with: {}", enabling(node, port));
  if (own.state() != PortState::kDown) return lack_of_manager(subnet, awaits_manager);
  const subnet::SubnetSwitch& far = subnet.the_switch();
  const auto place = subnet.switch_port_of(node.name(), port);
  if (!place || !far.port(*place)->is_disabled()) return problem_of(own);
  return fmt::format(
      "the link is down, since port {} of this host's switch is disabled. Enable it with: {}",
      *place, enabling(subnet, *place));
}

bool has_manager(const subnet::Subnet& subnet) {
  return !own_manager(subnet).empty();
}

std::uint32_t rate_of(const subnet::Port& port) {
  return subnet::gbit_of(static_cast<subnet::Speed>(port.info().speed_active_enabled >> 4));
}

model::IbAdapterStatus status_of(const model::IbAdapter& adapter, const subnet::HostAdapter& node,
                                 const subnet::Subnet& subnet, bool awaits_manager) {
  model::IbAdapterStatus status{.adapter = adapter, .guid = node.identity().guid};
  if (const auto device = model::find_ib_device(adapter.device))
    status.description = device->description;
  for (subnet::PortNumber port = 1; port <= node.ports(); ++port) {
    model::IbPort& one = status.ports.emplace_back(port_status(*node.port(port)));
    one.problem = problem_of(subnet, node, port, awaits_manager);
    if (node.model().is_ethernet(port)) add_ethernet(adapter, one);
  }
  return status;
}

model::IbFabric fabric_of(const std::string& host, const subnet::Subnet& subnet,
                          const HostCables& cables) {
  const subnet::SubnetSwitch& node = subnet.the_switch();
  const subnet::Port& own = *node.port(0);
  model::IbFabric fabric{.host = host,
                         .switch_guid = node.identity().guid,
                         .switch_lid = own.lid(),
                         .sm_lid = own.info().master_lid.get()};
  std::map<subnet::PortNumber, std::string> orders = orders_of(subnet, cables);
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
                                       totals.receive_constraints + totals.management_dropped,
                            .management_dropped = totals.management_dropped,
                            .refuses_manager = node.refuses_manager(linked.port),
                            .problem = std::move(orders[linked.port])});
  }
  return fabric;
}

}  // namespace paravane::subnet_host
