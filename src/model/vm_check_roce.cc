// Of native RoCE endpoints, what a VM needs to reach them.

#include <fmt/core.h>

#include <algorithm>

#include "model/hardware_version.h"
#include "model/vm_check_rows.h"

namespace paravane::model {
namespace {

// The most that a packet has beside its payload, from the IP header on: IPv6, UDP, BTH, RETH,
// immediate data, ICRC. The guest's active_mtu follows from the same (transport/roce/flow_facts.h).
constexpr std::uint32_t kHeaderBytes = 84;

bool is_native(const VmCheckFacts& facts, const AdapterSpec& adapter) {
  const PortGroup* group = find_group(facts, adapter.port_group);
  return group != nullptr && group->native_roce;
}

void check_adapter(const VmCheckFacts& facts, const AdapterSpec& spec, const RoceStatus& roce,
                   CheckRows& rows) {
  const std::string check = fmt::format("Adapter {}: native RoCE", spec.number);
  const VmSpec& vm = facts.vm.spec;
  if (!has_native_endpoints(vm.hw_version)) {
    return rows.warn(
        check,
        fmt::format("hardware version {} has no native endpoints: only VMs are reachable",
                    vm.hw_version),
        fmt::format("paravane vm set {} --hw-version {}", vm.name, kNativeHardwareVersion));
  }
  if (!roce.open) {
    return rows.fail(check, roce.closed.empty() ? "the RoCE port is not open yet" : roce.closed,
                     "paravane vds repair");
  }
  std::string text =
      roce.superframes ? "the RoCE port is open; this host's kernel cuts superframes into packets"
                       : "the RoCE port is open; this host's kernel does not cut UDP into packets "
                         "(Linux 6.2 does), so each packet is sent alone, which is slower";
  if (!roce.superframes) return rows.ok(check, std::move(text));
  text += roce.unmerged.empty()
              ? ", and merges those that it receives"
              : "; it merges none, or not all, of those that it receives, which is "
                "slower: " +
                    roce.unmerged;
  rows.ok(check, std::move(text));
}

std::uint32_t path_mtu_of(std::uint32_t mtu) {
  for (const std::uint32_t path_mtu : {4096U, 2048U, 1024U, 512U}) {
    if (path_mtu + kHeaderBytes <= mtu) return path_mtu;
  }
  return 256;
}

void check_mtu(const VmCheckFacts& facts, const SwitchStatus& vds, CheckRows& rows) {
  const std::string check = fmt::format("Switch {}: path MTU", vds.spec.name);
  const std::uint32_t mtu = vds.spec.mtu;
  const std::string& uplink = vds.spec.hosts.at(facts.host);
  const auto nic = std::ranges::find(facts.machine.nics, uplink, &PhysicalNic::linux_name);
  const bool is_known = nic != facts.machine.nics.end() && nic->mtu != 0;
  if (is_known && nic->mtu < mtu) {
    return rows.warn(check,
                     fmt::format("{}: {} has MTU {}, but the switch has {}: larger packets to "
                                 "native endpoints are lost",
                                 path_mtu_of(nic->mtu), shown_nic(*nic), nic->mtu, mtu),
                     fmt::format("ip link set {} mtu {}", uplink, mtu));
  }
  rows.ok(check, fmt::format("up to {} to native endpoints: the switch has MTU {}",
                             path_mtu_of(mtu), mtu));
}

}  // namespace

bool reaches_native_endpoints(const VmCheckFacts& facts, const std::string& vds) {
  return has_native_endpoints(facts.vm.spec.hw_version) &&
         std::ranges::any_of(facts.vm.spec.adapters, [&](const AdapterSpec& adapter) {
           return is_native(facts, adapter) && find_group(facts, adapter.port_group)->vds == vds;
         });
}

void check_roce(const VmCheckFacts& facts, CheckRows& rows) {
  const std::size_t count = std::min(facts.vm.spec.adapters.size(), facts.vm.adapters.size());
  for (std::size_t i = 0; i < count; ++i) {
    const AdapterSpec& spec = facts.vm.spec.adapters[i];
    if (is_native(facts, spec)) check_adapter(facts, spec, facts.vm.adapters[i].roce, rows);
  }
  for (const std::string& name : switches_of(facts)) {
    const SwitchStatus& vds = *find_switch(facts, name);
    if (!vds.spec.hosts.contains(facts.host)) continue;
    if (reaches_native_endpoints(facts, name)) check_mtu(facts, vds, rows);
  }
}

}  // namespace paravane::model
