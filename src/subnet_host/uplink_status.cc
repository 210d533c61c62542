#include "subnet_host/uplink_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "subnet_host/port_status.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet_host {
namespace {

using ipoib::Membership;
using wire::infiniband::Mtu;

std::string name_of(std::uint32_t vlan) {
  return vlan == 0 ? "untagged frames" : fmt::format("VLAN {}", vlan);
}

// The line of a subnet manager's file that makes the partition.
std::string partition_line(std::uint32_t vlan, const subnet::Port& port) {
  const auto mtu = static_cast<unsigned>(std::min(port.abilities().mtu, Mtu::k4096));
  if (vlan == 0) return fmt::format("Default=0x7fff, ipoib, mtu={} : ALL=full;", mtu);
  return fmt::format("vlan{}=0x{:04x}, ipoib, mtu={} : ALL=full;", vlan,
                     vlan | wire::infiniband::kFullMember, mtu);
}

std::string problem_of(const Membership& membership, const subnet::Port& port,
                       std::uint32_t switch_mtu) {
  const std::uint32_t vlan = membership.vlan();
  switch (membership.state()) {
    case Membership::State::kNoLink: return {};  // of the port
    case Membership::State::kJoining:
      return fmt::format("{}: joins the partition's broadcast group", name_of(vlan));
    case Membership::State::kNoKey:
      return fmt::format(
          "{}: this port has no such partition. Add to opensm's partitions.conf, and "
          "restart opensm: {}",
          name_of(vlan), partition_line(vlan, port));
    case Membership::State::kRefused:
      return fmt::format("{}: {}. Compare opensm's partitions.conf with: {}", name_of(vlan),
                         membership.why(), partition_line(vlan, port));
    case Membership::State::kJoined: break;
  }
  const std::size_t mtu = membership.group()->mtu;
  if (switch_mtu <= mtu) return {};
  return fmt::format(
      "{}: the partition's MTU of {} is below the switch's of {}: larger packets are "
      "refused. Lower it with: paravane vds set --mtu {}",
      name_of(vlan), mtu, switch_mtu, mtu);
}

model::MacAddress mac_of(std::uint64_t guid) {
  const auto octet = [guid](unsigned at) {
    return static_cast<std::uint8_t>(guid >> (56 - 8 * at));
  };
  return {octet(0), octet(1), octet(2), octet(5), octet(6), octet(7)};
}

}  // namespace

void add_status(const subnet::Port& port, const HostUplink* uplink, model::IbUplink& status) {
  status.mac = mac_of(port.guid());
  if (port.is_active()) status.rate_gbps = rate_of(port);
  status.problem = problem_of(port);
  if (uplink == nullptr) return;
  status.addresses = static_cast<std::uint32_t>(uplink->uplink().addresses());
  for (const Membership* membership : uplink->uplink().memberships()) {
    model::IbUplinkPartition partition{.vlan = membership->vlan(),
                                       .problem = problem_of(*membership, port, status.mtu)};
    if (const ipoib::BroadcastGroup* group = membership->group(); group != nullptr) {
      partition.key = group->partition;
      partition.mtu = static_cast<std::uint32_t>(group->mtu);
    }
    status.partitions.push_back(std::move(partition));
  }
  const auto add = [&status](const CounterSet& set) {
    for (const Counter* counter : set.all())
      status.counters[std::string(counter->name())] = counter->value();
  };
  add(uplink->uplink().counters().set);
  add(uplink->counters().set);
}

}  // namespace paravane::subnet_host
