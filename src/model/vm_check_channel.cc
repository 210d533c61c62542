// Of the channel to other hosts, what is to be so before power-on.

#include <fmt/core.h>

#include <algorithm>

#include "model/vm_check_rows.h"

namespace paravane::model {
namespace {

constexpr const char* kVmknic = "VMkernel interface";
constexpr const char* kRuleset = "Firewall ruleset";
constexpr const char* kChannel = "Channel";
constexpr const char* kFiles = "Cluster files";
constexpr const char* kStatus = "paravane cluster status";
constexpr const char* kStart = "systemctl start paravaned";
constexpr const char* kListVmknics = "paravane network ip interface list";

void check_vmknic(const VmkernelConfiguration& host, CheckRows& rows) {
  const auto setting = std::ranges::find(host.settings, kPvrdmaVmknic, &SettingValue::path);
  const std::string name = setting == host.settings.end() ? "" : setting->value;
  const std::string cure = reopen(ClosedBy::kTag, usable_vmknic(host.vmknics));
  if (name.empty()) {
    return rows.fail(kVmknic, fmt::format("{} names none", kPvrdmaVmknic), cure);
  }
  const auto vmknic = std::ranges::find_if(
      host.vmknics, [&name](const VmknicStatus& one) { return one.spec.name == name; });
  if (vmknic == host.vmknics.end()) {
    return rows.fail(kVmknic, fmt::format("{}, set in {}, does not exist", name, kPvrdmaVmknic),
                     cure);
  }
  if (!vmknic->problem.empty()) {
    return rows.fail(kVmknic, fmt::format("{}: {}", name, vmknic->problem),
                     usable_vmknic(host.vmknics) == name ? kListVmknics : cure);
  }
  if (name != kManagementVmknic && !vmknic->spec.ipv4) {
    return rows.fail(kVmknic, name + " has no IPv4 address", cure);
  }
  rows.ok(kVmknic, fmt::format("{}{}, {}", name,
                               vmknic->spec.ipv4 ? " " + format_ipv4(*vmknic->spec.ipv4) : "",
                               vmknic->spec.port_group));
}

void check_ruleset(const VmkernelConfiguration& host, CheckRows& rows) {
  const auto ruleset = std::ranges::find(host.rulesets, kPvrdmaRuleset, &FirewallRuleset::name);
  if (ruleset != host.rulesets.end() && ruleset->enabled) {
    return rows.ok(kRuleset, "pvrdma is enabled");
  }
  rows.fail(kRuleset, "pvrdma is disabled", reopen(ClosedBy::kRuleset, {}));
}

// Of a channel that its host's configuration closes.
std::string opens(const std::string& remedy) {
  return remedy.empty() ? kListVmknics : remedy;
}

void check_place(const VmkernelConfiguration& host, CheckRows& rows) {
  if (!host.channel.endpoint.empty()) {
    return rows.ok(kChannel, fmt::format("listens at {}", host.channel.endpoint));
  }
  rows.fail(kChannel, fmt::format("closed: {}", host.channel.closed.why),
            opens(host.channel.closed.remedy));
}

std::string there(const std::string& command, const std::string& host) {
  return fmt::format("{}   # on {}", command, host);
}

void check_peer(const VmCheckFacts& facts, const std::string& name, CheckRows& rows) {
  const std::string check = fmt::format("{} to {}", kChannel, name);
  const auto& hosts = facts.cluster.hosts;
  const auto host = std::ranges::find(hosts, name, &ClusterHost::name);
  const bool away = host == hosts.end() || !host->present;
  if (away && !facts.cluster.connected) {
    return rows.warn(check, "unknown while the inventory is unreachable", kStatus);
  }
  if (away) {
    return rows.warn(check, fmt::format("host {} or its network is down", name),
                     there(kStart, name));
  }
  if (host->channel.empty()) {
    return rows.warn(check, "not tried yet", kStatus);
  }
  if (host->channel != "none") {
    return rows.ok(check, fmt::format("open, {}", host->channel));
  }
  const ChannelProblem& problem = host->problem;
  std::string cure = there(fmt::format("{}; {}", kStart, kStatus), name);
  if (!problem.host.empty()) {
    const std::string command = opens(problem.remedy);
    cure = problem.host == name ? there(command, name) : command;
  }
  rows.fail(check, problem.text, std::move(cure));
}

void check_inventory(const ClusterStatus& cluster, CheckRows& rows) {
  if (cluster.connected) return rows.ok("Cluster", fmt::format("member as {}", cluster.host));
  rows.warn("Cluster",
            fmt::format("the inventory is unreachable: {}; changes by other hosts are not visible",
                        cluster.problem),
            cluster.authority.empty() || cluster.authority == cluster.host
                ? kStatus
                : there(kStart, cluster.authority));
}

// The VM itself does without: it loses what is on other hosts.
void check_files(const ClusterStatus& cluster, CheckRows& rows) {
  if (cluster.damage.empty()) return;
  const std::string cure = fmt::format("{}   # {}", kStatus, cluster.damage_remedy);
  if (cluster.member) return rows.warn(kFiles, cluster.damage, cure);
  rows.fail(kFiles, cluster.damage, cure);
}

}  // namespace

void check_channel(const VmCheckFacts& facts, CheckRows& rows) {
  check_files(facts.cluster, rows);
  if (!facts.cluster.member && !facts.cluster.damage.empty()) return;
  if (!facts.cluster.member) return rows.ok(kChannel, kOnlyThisHost);
  check_inventory(facts.cluster, rows);
  const std::set<std::string> peers = peers_of(facts);
  if (peers.empty()) {
    return rows.ok(kChannel, "not needed: no switch of the VM has another host");
  }
  check_vmknic(facts.configuration, rows);
  check_ruleset(facts.configuration, rows);
  check_place(facts.configuration, rows);
  for (const std::string& peer : peers) check_peer(facts, peer, rows);
}

}  // namespace paravane::model
