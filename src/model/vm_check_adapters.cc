// Of a VM's adapters, what is to be so before power-on.

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "model/adapter_name.h"
#include "model/interface_name.h"
#include "model/vm_check_rows.h"

namespace paravane::model {
namespace {

struct Adapter {
  const VmCheckFacts& facts;
  const AdapterSpec& spec;
  const AdapterStatus& status;

  const std::string& vm() const { return facts.vm.spec.name; }
  AdapterName name() const { return {vm(), spec.number}; }
  std::string row(const char* what) const {
    return fmt::format("Adapter {}: {}", spec.number, what);
  }
};

// A port group that the adapter could be in; empty: none.
std::string usable_group(const VmCheckFacts& facts) {
  for (const PortGroup& group : facts.port_groups) {
    const SwitchStatus* vds = find_switch(facts, group.vds);
    if (vds != nullptr && vds->spec.hosts.contains(facts.host)) return group.name;
  }
  return {};
}

// The commands after which there is a port group of this name.
std::string make_group(const VmCheckFacts& facts, const std::string& group) {
  const auto member = std::ranges::find_if(facts.switches, [&facts](const SwitchStatus& vds) {
    return vds.spec.hosts.contains(facts.host);
  });
  if (member != facts.switches.end()) {
    return at_authority(
        facts, fmt::format("paravane portgroup create {} --vds {}", group, member->spec.name));
  }
  const bool none = facts.switches.empty();
  const std::string vds = none ? "lan" : facts.switches.front().spec.name;
  return at_authority(
      facts, fmt::format("{}paravane vds add-host {} {} && paravane portgroup create {} --vds {}",
                         none ? "paravane vds create lan && " : "", vds, facts.host, group, vds));
}

void check_group(const Adapter& adapter, CheckRows& rows) {
  const VmCheckFacts& facts = adapter.facts;
  const std::string& name = adapter.spec.port_group;
  const std::string check = adapter.row("port group");
  if (name.empty() && !facts.cluster.member) {
    return rows.ok(check, "none: the adapter is on this host's built-in switch");
  }
  if (name.empty()) {
    const std::string group = usable_group(facts);
    return rows.warn(
        check, "none: VMs on other hosts are unreachable, and you must connect the NIC yourself",
        group.empty() ? make_group(facts, "rdma")
                      : fmt::format("paravane vm set {} --adapter {} --port-group {}", adapter.vm(),
                                    adapter.spec.number, group));
  }
  const PortGroup* group = find_group(facts, name);
  if (group == nullptr) {
    return rows.stop(check, fmt::format("port group {} does not exist", name),
                     make_group(facts, name));
  }
  rows.ok(check, group->vlan == 0
                     ? fmt::format("{} of switch {}", name, group->vds)
                     : fmt::format("{} of switch {}, VLAN {}", name, group->vds, group->vlan));
}

// A repair of the switches makes what of them is missing on the host.
std::string tap_cure(LinkFault fault, const std::string& tap) {
  switch (fault) {
    case LinkFault::kForeign: return fmt::format("ip link delete {} && paravane vds repair", tap);
    case LinkFault::kNoBridges: return "modprobe bridge && paravane vds repair";
    case LinkFault::kOther: break;
  }
  return "paravane vds repair";
}

void check_tap(const Adapter& adapter, CheckRows& rows) {
  const AdapterStatus& status = adapter.status;
  if (status.tap.empty() || find_group(adapter.facts, adapter.spec.port_group) == nullptr) return;
  if (status.state == VmState::kFailed || status.problem.empty()) {
    return rows.ok(adapter.row("NIC"), fmt::format("on {}", status.tap));
  }
  rows.fail(adapter.row("NIC"), status.problem, tap_cure(status.fault, status.tap));
}

void check_socket(const Adapter& adapter, CheckRows& rows) {
  const AdapterStatus& status = adapter.status;
  const std::string check = adapter.row("socket");
  switch (status.state) {
    case VmState::kFailed:
      // Any change makes it anew.
      return rows.stop(check, status.problem,
                       fmt::format("paravane vm set {} --hw-version {}", adapter.vm(),
                                   adapter.facts.vm.spec.hw_version));
    case VmState::kDetached: return rows.ok(check, status.socket + ", free");
    case VmState::kAttached:
    case VmState::kActive:
    case VmState::kDead:
    case VmState::kLost:
      return rows.ok(check, fmt::format("{}, in use by the running VM (process {})", status.socket,
                                        status.pid));
  }
}

void check_link(const Adapter& adapter, CheckRows& rows) {
  if (adapter.spec.connected) return;
  rows.warn(adapter.row("link"), "the adapter is disconnected from its switch",
            fmt::format("paravane vm adapter connect {} {}", adapter.vm(), adapter.spec.number));
}

// Of 32 hex digits; the text itself if it is none.
std::string readable_gid(const std::string& hex) {
  std::array<std::uint8_t, 16> bytes{};
  if (hex.size() != 2 * bytes.size()) return hex;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* at = hex.data() + 2 * i;
    if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2) return hex;
  }
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool ipv4 = std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
  const char* printed = ipv4 ? ::inet_ntop(AF_INET, &bytes[12], text.data(), text.size())
                             : ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return printed == nullptr ? hex : printed;
}

// A MAC address that differs from that of a VM of the same name on another host.
std::string other_mac(const Adapter& adapter) {
  return format_mac(mac_for_name(adapter.facts.host + "/" + to_string(adapter.name())));
}

std::string mac_cure(const Adapter& adapter) {
  const std::string group =
      adapter.spec.port_group.empty() ? std::string() : " --port-group " + adapter.spec.port_group;
  if (adapter.spec.number == 1) {
    return fmt::format(
        "paravane vm remove {0} && paravane vm add {0} --mac {1}{2}   # with its other options",
        adapter.vm(), other_mac(adapter), group);
  }
  return fmt::format(
      "paravane vm adapter remove {0} {1} && paravane vm adapter add {0} --mac {2}{3}",
      adapter.vm(), adapter.spec.number, other_mac(adapter), group);
}

// A claim of this host that does not count, as ClusterStatus::lost has it: "KEY of host H:
// REASON", where KEY is adapters/VM/N/... or gids/SEGMENT/v2/HEX/VM/N.
void check_claim(const Adapter& adapter, const std::string& line, CheckRows& rows) {
  const std::string here = fmt::format(" of host {}: ", adapter.facts.host);
  const std::size_t end = line.find(here);
  if (end == std::string::npos) return;
  const std::string key = line.substr(0, end);
  const std::string reason = line.substr(end + here.size());
  const std::string id = fmt::format("{}/{}", adapter.vm(), adapter.spec.number);
  if (key.starts_with(fmt::format("adapters/{}/mac/", id))) {
    return rows.fail(adapter.row("MAC address"), reason, mac_cure(adapter));
  }
  if (!key.starts_with("gids/") || !key.ends_with("/" + id)) return;
  const std::string before = key.substr(0, key.size() - id.size() - 1);
  const std::string gid = readable_gid(before.substr(before.rfind('/') + 1));
  rows.fail(adapter.row("address"), fmt::format("{}: {}", gid, reason),
            fmt::format("ip address   # in the guest: use an address other than {}", gid));
}

void check_claims(const Adapter& adapter, CheckRows& rows) {
  for (const std::string& line : adapter.facts.cluster.lost) check_claim(adapter, line, rows);
}

void check_guest(const Adapter& adapter, CheckRows& rows) {
  const std::string check = adapter.row("guest driver");
  switch (adapter.status.state) {
    case VmState::kActive: return rows.ok(check, "the vmw_pvrdma driver has activated the device");
    case VmState::kAttached:
      return rows.warn(check,
                       "not detected yet: the guest needs 64-bit Linux with vmw_pvrdma "
                       "(/usr/share/doc/paravane/docs/guest.md)",
                       "modprobe vmw_pvrdma   # in the guest");
    case VmState::kLost:
      return rows.fail(
          check, "the guest's RDMA objects ended with an engine that was killed",
          fmt::format("{}   # in the guest, after its programs have ended; or reboot it",
                      kLostCure));
    case VmState::kDead:
      return rows.fail(check,
                       "the guest has not configured the adapter since its VMM reset it and loaded "
                       "a state of the guest, as by a migration or a snapshot of QEMU's own",
                       fmt::format("{}   # in the guest; lspci -D has ADDRESS", kDeadCure));
    case VmState::kDetached:
    case VmState::kFailed:
      return rows.ok(check,
                     "not detected yet: the VM is off. The guest needs 64-bit Linux with "
                     "vmw_pvrdma (/usr/share/doc/paravane/docs/guest.md)");
  }
}

}  // namespace

void check_adapters(const VmCheckFacts& facts, CheckRows& rows) {
  const std::size_t count = std::min(facts.vm.spec.adapters.size(), facts.vm.adapters.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Adapter adapter{facts, facts.vm.spec.adapters[i], facts.vm.adapters[i]};
    check_group(adapter, rows);
    check_tap(adapter, rows);
    check_socket(adapter, rows);
    check_link(adapter, rows);
    check_claims(adapter, rows);
    check_guest(adapter, rows);
  }
}

}  // namespace paravane::model
