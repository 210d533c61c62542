#include "model/vm_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/hardware_version.h"
#include "model/vm_check_rows.h"

namespace paravane::model {
namespace {

constexpr const char* kHardware = "Hardware version";
constexpr const char* kAdapters = "Adapters";
constexpr const char* kMemory = "Memory reservation";

std::int64_t number_of(const VmCheckFacts& facts, std::string_view path) {
  SettingValues values;
  for (const SettingValue& one : facts.configuration.settings) values[one.path] = one.value;
  return setting_number(values, path);
}

void check_hardware(const VmSpec& vm, CheckRows& rows) {
  const bool speaks_v2 = std::ranges::any_of(vm.adapters, [&vm](const AdapterSpec& adapter) {
    return !check_protocol(vm.hw_version, adapter.protocol);
  });
  if (speaks_v2) {
    return rows.stop(
        kHardware,
        fmt::format("{}, but an adapter uses RoCE v2, which needs 14 or later", vm.hw_version),
        fmt::format("paravane vm set {} --hw-version 14", vm.name));
  }
  rows.ok(kHardware, fmt::format("{}: {}", vm.hw_version,
                                 has_shared_receive_queues(vm.hw_version)
                                     ? "RoCE v1 and v2, shared receive queues"
                                     : "RoCE v1, no shared receive queues"));
}

void check_count(const VmCheckFacts& facts, CheckRows& rows) {
  const VmSpec& vm = facts.vm.spec;
  const std::size_t count = vm.adapters.size();
  const std::int64_t most = number_of(facts, kPvrdmaMaxAdapters);
  std::string found = fmt::format("{} of {}", count, most);
  if (std::cmp_less_equal(count, most)) return rows.ok(kAdapters, std::move(found));
  rows.fail(kAdapters, fmt::format("{} ({})", found, kPvrdmaMaxAdapters),
            fmt::format("paravane vm adapter remove {} {}", vm.name, vm.adapters.back().number));
}

void check_memory(const VmCheckFacts& facts, CheckRows& rows) {
  const VmSpec& vm = facts.vm.spec;
  const std::uint64_t size = vm.machine.memory_mib;
  if (vm.machine.lock_memory) {
    return rows.ok(kMemory, fmt::format("{} MiB, shared, reserved and locked", size));
  }
  if (number_of(facts, kPvrdmaReservation) != 0) {
    return rows.stop(kMemory, fmt::format("not reserved, although {} is 1", kPvrdmaReservation),
                     fmt::format("paravane vm set {} --lock-memory", vm.name));
  }
  rows.ok(kMemory, fmt::format("{} MiB, shared, not reserved: no path needs a reservation", size));
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk: return "ok";
    case Verdict::kWarning: return "warning";
    case Verdict::kFailed: return "failed";
  }
  return "";
}

std::optional<Verdict> parse_verdict(std::string_view text) {
  for (const Verdict verdict : {Verdict::kOk, Verdict::kWarning, Verdict::kFailed}) {
    if (to_string(verdict) == text) return verdict;
  }
  return std::nullopt;
}

const PortGroup* find_group(const VmCheckFacts& facts, const std::string& name) {
  const auto found = std::ranges::find(facts.port_groups, name, &PortGroup::name);
  return found == facts.port_groups.end() ? nullptr : &*found;
}

const SwitchStatus* find_switch(const VmCheckFacts& facts, const std::string& name) {
  const auto found = std::ranges::find_if(
      facts.switches, [&name](const SwitchStatus& one) { return one.spec.name == name; });
  return found == facts.switches.end() ? nullptr : &*found;
}

std::set<std::string> switches_of(const VmCheckFacts& facts) {
  std::set<std::string> names;
  for (const AdapterSpec& adapter : facts.vm.spec.adapters) {
    const PortGroup* group = find_group(facts, adapter.port_group);
    if (group != nullptr && find_switch(facts, group->vds) != nullptr) names.insert(group->vds);
  }
  return names;
}

std::set<std::string> peers_of(const VmCheckFacts& facts) {
  std::set<std::string> peers;
  for (const std::string& name : switches_of(facts)) {
    const auto& hosts = find_switch(facts, name)->spec.hosts;
    if (!hosts.contains(facts.host)) continue;
    for (const auto& [host, uplink] : hosts) {
      if (host != facts.host) peers.insert(host);
    }
  }
  return peers;
}

std::string at_authority(const VmCheckFacts& facts, const std::string& command) {
  const std::string& authority = facts.cluster.authority;
  if (!facts.cluster.member || authority.empty() || authority == facts.host) return command;
  return fmt::format("{}   # on {}", command, authority);
}

std::vector<CheckRow> check_vm(const VmCheckFacts& facts) {
  CheckRows rows;
  check_hardware(facts.vm.spec, rows);
  check_count(facts, rows);
  check_memory(facts, rows);
  check_adapters(facts, rows);
  check_switches(facts, rows);
  check_flow_control(facts, rows);
  check_roce(facts, rows);
  check_channel(facts, rows);
  check_hca_memory(facts, rows);
  return rows.take();
}

}  // namespace paravane::model
