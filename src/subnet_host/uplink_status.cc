#include "subnet_host/uplink_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <vector>

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

// `cut`: packets of the subnet that were dropped, as they were above the switch's MTU.
std::string problem_of(const Membership& membership, const subnet::Port& port,
                       const std::string& vds, std::uint32_t switch_mtu, std::uint64_t cut) {
  const std::uint32_t vlan = membership.vlan();
  switch (membership.state()) {
    case Membership::State::kNoLink: return {};  // of the port
    case Membership::State::kJoining:
      return fmt::format("{}: joins the partition's broadcast group", name_of(vlan));
    case Membership::State::kNoKey:
      return fmt::format(
          "{}: this port has no such partition. Add to opensm's partitions.conf{}, and "
          "restart opensm: {}",
          name_of(vlan),
          vlan == 0 ? std::string()
                    : fmt::format(", below the line \"{}\"", partition_line(0, port)),
          partition_line(vlan, port));
    case Membership::State::kRefused:
      return fmt::format("{}: {}. Compare opensm's partitions.conf with: {}", name_of(vlan),
                         membership.why(), partition_line(vlan, port));
    case Membership::State::kJoined: break;
  }
  const std::size_t mtu = membership.group()->mtu;
  if (switch_mtu < mtu && cut > 0)
    return fmt::format(
        "{}: the switch's MTU of {} is below the partition's of {}: larger packets that come are "
        "dropped ({} so far). Raise it with: paravane vds set {} --mtu {}",
        name_of(vlan), switch_mtu, mtu, cut, vds, mtu);
  if (switch_mtu <= mtu) return {};
  return fmt::format(
      "{}: the partition's MTU of {} is below the switch's of {}: larger packets are "
      "refused. Lower it with: paravane vds set {} --mtu {}",
      name_of(vlan), mtu, switch_mtu, vds, mtu);
}

// That `membership` is one network with a VLAN before it in `all`; empty: it is not. Only the key
// of untagged frames, the first of the port's table, can be that of a VLAN too.
std::string shared_problem(const Membership& membership,
                           const std::vector<const Membership*>& all) {
  const std::uint16_t key = membership.partition();
  if (key == 0) return {};
  for (const Membership* other : all) {
    if (other == &membership) return {};
    if ((other->partition() & wire::infiniband::kPartitionMask) !=
        (key & wire::infiniband::kPartitionMask))
      continue;
    return fmt::format(
        "VLAN {} and {} are one network: partition 0x{:04x} is the first of this port's table. "
        "Have "
        "opensm's partitions.conf begin with another one: {}",
        membership.vlan(), name_of(other->vlan()), key, "Default=0x7fff, ipoib : ALL=full;");
  }
  return {};
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
  const std::uint64_t cut =
      uplink->drops_large_packets() ? uplink->counters().above_switch_mtu.value() : 0;
  const std::vector<const Membership*> memberships = uplink->uplink().memberships();
  for (const Membership* membership : memberships) {
    model::IbUplinkPartition partition{
        .vlan = membership->vlan(),
        .problem = problem_of(*membership, port, status.vds, status.mtu, cut)};
    if (partition.problem.empty()) partition.problem = shared_problem(*membership, memberships);
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
