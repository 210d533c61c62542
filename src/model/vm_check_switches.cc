// Of the switches that a VM is in, what is to be so on this host before power-on.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/vm_check_rows.h"

namespace paravane::model {
namespace {

std::string row(const SwitchStatus& vds, const char* what) {
  return fmt::format("Switch {}: {}", vds.spec.name, what);
}

const PhysicalNic* find_nic(const VmCheckFacts& facts, const std::string& linux_name) {
  const auto found = std::ranges::find(facts.machine.nics, linux_name, &PhysicalNic::linux_name);
  return found == facts.machine.nics.end() ? nullptr : &*found;
}

// A NIC that could be the uplink: up, unused, and preferably with RDMA. Empty: none.
std::string usable_nic(const VmCheckFacts& facts) {
  std::string best;
  for (const PhysicalNic& nic : facts.machine.nics) {
    const bool used = std::ranges::any_of(facts.switches, [&](const SwitchStatus& vds) {
      const std::vector<std::string> uplinks = uplinks_of(vds.spec, facts.host);
      return std::ranges::find(uplinks, nic.linux_name) != uplinks.end();
    });
    const bool management = std::ranges::any_of(
        facts.configuration.vmknics,
        [&nic](const VmknicStatus& one) { return one.interface == nic.linux_name; });
    if (used || management || !nic.carrier || !nic.team.empty()) continue;
    const bool rdma = std::ranges::any_of(
        facts.machine.rdma_devices,
        [&nic](const RdmaDevice& one) { return one.paired_link == nic.linux_name; });
    if (best.empty() || rdma) best = nic.linux_name;
  }
  return best;
}

std::string uplink_cure(const VmCheckFacts& facts, const SwitchStatus& vds) {
  const std::string nic = usable_nic(facts);
  if (nic.empty()) return "paravane network nic list";
  return at_authority(
      facts, fmt::format("paravane vds uplink {} {} --host {}", vds.spec.name, nic, facts.host));
}

// Each says how to mend it, where that is not for a repair.
void check_problems(const SwitchStatus& vds, CheckRows& rows) {
  for (const std::string& problem : vds.problems) {
    rows.warn(row(vds, "bridge"), problem, "paravane vds repair");
  }
}

// Frames of its partitions pass it, where it has a link.
void check_ipoib_uplink(const VmCheckFacts& facts, const std::string& check,
                        const std::string& uplink, CheckRows& rows) {
  constexpr const char* kList = "paravane infiniband uplink list";
  const auto known = std::ranges::find(facts.ib_uplinks, uplink, &IbUplink::name);
  // One that this host does not have is a problem of the switch.
  if (known == facts.ib_uplinks.end()) return rows.ok(check, uplink + " is an IPoIB uplink");
  if (known->rate_gbps == 0) {
    const std::string why = known->problem.empty() ? "" : ": " + known->problem;
    return rows.fail(check, uplink + " has no link" + why, kList);
  }
  for (const IbUplinkPartition& partition : known->partitions) {
    if (!partition.problem.empty())
      return rows.warn(check, fmt::format("{}: {}", uplink, partition.problem), kList);
  }
  rows.ok(check, fmt::format("{} is up, {} Mbit/s", uplink, known->rate_gbps * 1000));
}

void check_nic(const VmCheckFacts& facts, const SwitchStatus& vds, const std::string& uplink,
               CheckRows& rows) {
  const std::string check = row(vds, "uplink");
  const PhysicalNic* nic = find_nic(facts, uplink);
  if (nic == nullptr) {
    if (is_ipoib_uplink_name(uplink)) return check_ipoib_uplink(facts, check, uplink, rows);
    if (facts.machine.nics.empty()) return rows.ok(check, uplink);
    return rows.fail(check, fmt::format("this host has no NIC {}", uplink),
                     uplink_cure(facts, vds));
  }
  const std::string name = shown_nic(*nic);
  if (!nic->team.empty()) {
    return rows.fail(
        check,
        fmt::format("{} is in team {}: PVRDMA does not support NIC teaming", name, nic->team),
        fmt::format("ip link set {} nomaster", uplink));
  }
  if (!nic->up) {
    return rows.fail(check, name + " is down", fmt::format("ip link set {} up", uplink));
  }
  if (!nic->carrier) {
    return rows.fail(check, name + " has no link: check the cable and the port at the other end",
                     uplink_cure(facts, vds));
  }
  rows.ok(check, nic->speed_mbps == 0 ? name + " is up"
                                      : fmt::format("{} is up, {} Mbit/s", name, nic->speed_mbps));
}

// The port of the device that channels to other hosts are to go over, if it is not the uplink's.
const RdmaDevice* elsewhere(const VmCheckFacts& facts, const std::string& uplink) {
  const std::string& name = facts.configuration.hca.device;
  const RdmaDevice* port = nullptr;
  for (const RdmaDevice& one : facts.machine.rdma_devices) {
    if (name.empty() || one.linux_name != name) continue;
    if (port == nullptr || !one.trunks.empty()) port = &one;
  }
  return port == nullptr || port->paired_link == uplink ? nullptr : port;
}

std::string shown_trunks(const RdmaDevice& device, const std::string& name) {
  return fmt::format("channels over {} to {}", name, fmt::join(device.trunks, ", "));
}

void check_device(const VmCheckFacts& facts, const SwitchStatus& vds, const std::string& uplink,
                  CheckRows& rows) {
  const std::string check = row(vds, "RDMA device");
  const auto& devices = facts.machine.rdma_devices;
  const RdmaDevice* other = elsewhere(facts, uplink);
  const bool uses_other = other != nullptr && !other->trunks.empty();
  const auto device = std::ranges::find(devices, uplink, &RdmaDevice::paired_link);
  if (uplink.empty() || device == devices.end()) {
    if (uses_other) {
      return rows.ok(check, "none on the uplink; " + shown_trunks(*other, other->name));
    }
    const std::string unused =
        other != nullptr ? fmt::format(", and no channel goes over {} now", other->name) : "";
    return rows.ok(check, "none on the uplink" + unused + ": traffic to other hosts uses TCP");
  }
  std::string use =
      device->trunks.empty() ? "no channel goes over it now" : shown_trunks(*device, "it");
  if (uses_other) use += "; " + shown_trunks(*other, other->name);
  rows.ok(check, fmt::format("{}, {}; {}", device->name, to_string(device->state), use));
}

void check_uplink(const VmCheckFacts& facts, const SwitchStatus& vds, CheckRows& rows) {
  // Of a team, the one that carries the frames.
  const std::string uplink = vds.active.empty() ? vds.spec.hosts.at(facts.host) : vds.active;
  const std::string check = row(vds, "uplink");
  const bool is_alone = !facts.cluster.member || vds.spec.hosts.size() == 1;
  // It leads to other switches of its subnet, also of this host.
  if (is_alone && is_ipoib_uplink_name(uplink)) return check_nic(facts, vds, uplink, rows);
  if (is_alone && reaches_native_endpoints(facts, vds.spec.name)) {
    if (!uplink.empty()) return check_nic(facts, vds, uplink, rows);
    return rows.ok(check, "none: native endpoints on this host's bridge only");
  }
  if (!facts.cluster.member) return rows.ok(check, kOnlyThisHost);
  if (is_alone) return rows.ok(check, "not needed: no other host is in the switch");
  if (uplink.empty()) {
    rows.warn(check, "none: rdma_cm cannot find VMs on other hosts", uplink_cure(facts, vds));
  } else {
    check_nic(facts, vds, uplink, rows);
  }
  check_device(facts, vds, uplink, rows);
}

}  // namespace

void check_switches(const VmCheckFacts& facts, CheckRows& rows) {
  for (const std::string& name : switches_of(facts)) {
    const SwitchStatus& vds = *find_switch(facts, name);
    if (!vds.spec.hosts.contains(facts.host)) {
      rows.stop(row(vds, "host"), fmt::format("host {} is not a member", facts.host),
                at_authority(facts, fmt::format("paravane vds add-host {} {}", name, facts.host)));
      continue;
    }
    rows.ok(row(vds, "host"), fmt::format("host {} is a member", facts.host));
    check_problems(vds, rows);
    check_uplink(facts, vds, rows);
  }
}

}  // namespace paravane::model
