// Checks whether a full switch can make the RDMA adapters of uplinks wait. RoCE becomes slow if the
// switch drops packets instead.

#include <fmt/core.h>

#include <algorithm>

#include "model/nic_dcb.h"
#include "model/vm_check_rows.h"

namespace paravane::model {
namespace {

// Whether the VM's packets leave this host by the uplink of the switch.
bool uses_uplink(const VmCheckFacts& facts, const SwitchStatus& vds) {
  const bool has_peers = facts.cluster.member && vds.spec.hosts.size() > 1;
  return has_peers || reaches_native_endpoints(facts, vds.spec.name);
}

// The cure is for the kind that the NIC's driver supports. Either needs the same at the other end.
std::string flow_control_cure(const PhysicalNic& nic) {
  if (nic.pause) {
    return fmt::format("ethtool -A {} rx on tx on   # and on the port of the physical switch",
                       nic.linux_name);
  }
  if (nic.dcb) {
    return fmt::format(
        "dcb pfc set dev {} prio-pfc 3:on   # and on the port of the physical switch",
        nic.linux_name);
  }
  return fmt::format(
      "paravane network nic list   # choose an uplink whose driver supports one of "
      "the two; that of {} does not",
      nic.linux_name);
}

void check_nic_flow_control(const std::string& check, const PhysicalNic& nic,
                            const RdmaDevice& device, CheckRows& rows) {
  if (nic.pfc.value_or(0) != 0) {
    return rows.ok(check, "priority flow control for priority " + shown_priorities(*nic.pfc));
  }
  const PauseDirections pause = nic.pause ? nic.pause->in_force() : PauseDirections();
  if (pause.rx && pause.tx) return rows.ok(check, "pause frames in both directions");
  rows.warn(check,
            fmt::format("{}, the NIC of {}, has neither pause frames in both directions nor "
                        "priority flow control: a congested network drops RDMA packets",
                        shown_nic(nic), device.name),
            flow_control_cure(nic));
}

}  // namespace

void check_flow_control(const VmCheckFacts& facts, CheckRows& rows) {
  for (const std::string& name : switches_of(facts)) {
    const SwitchStatus& vds = *find_switch(facts, name);
    const auto member = vds.spec.hosts.find(facts.host);
    if (member == vds.spec.hosts.end() || !uses_uplink(facts, vds)) continue;
    const PhysicalNic* nic = nic_named(facts.machine, member->second);
    const auto& devices = facts.machine.rdma_devices;
    const auto device = std::ranges::find(devices, member->second, &RdmaDevice::paired_link);
    // iWARP is TCP, which copes with losses.
    if (nic == nullptr || device == devices.end() || device->iwarp) continue;
    check_nic_flow_control(fmt::format("Switch {}: flow control", name), *nic, *device, rows);
  }
}

}  // namespace paravane::model
