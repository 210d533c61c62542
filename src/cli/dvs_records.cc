#include "cli/dvs_records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace paravane::cli {

using model::PhysicalNic;
using model::PortGroupStatus;
using model::SwitchStatus;
using text::TextRecord;

namespace {

constexpr std::uint64_t kPorts = 512;  // that vSphere configures; ours have no such limit
constexpr std::uint64_t kIds = 100'000;

// FNV-1a, from a start that `salt` gives.
std::uint64_t hash(std::string_view text, std::uint64_t salt = 0) {
  std::uint64_t value = 14695981039346656037u ^ salt;
  for (const char c : text) value = (value ^ static_cast<std::uint8_t>(c)) * 1099511628211u;
  return value;
}

std::string shown_uplink(const std::string& linux_name,
                         const std::vector<model::PhysicalNic>& nics) {
  const auto nic = std::ranges::find(nics, linux_name, &model::PhysicalNic::linux_name);
  return nic == nics.end() ? linux_name : nic->name;
}

// "db1/2" is the VM's second NIC.
std::string client_of(const std::string& adapter) {
  const std::size_t slash = adapter.find('/');
  if (slash == std::string::npos) return adapter + ".eth0";
  unsigned number = 1;
  for (const char c : adapter.substr(slash + 1)) number = c >= '1' ? unsigned(c - '0') : number;
  return fmt::format("{}.eth{}", adapter.substr(0, slash), number - 1);
}

text::TextRecord port(const std::string& client, const std::string& group) {
  return {.title = "",
          .fields = {{"Client", client},
                     {"DVPortgroup ID", port_group_id(group)},
                     {"In Use", true},
                     {"Port ID", vds_port_id(client)}}};
}

text::TextRecord record(const model::SwitchStatus& vds, std::vector<std::string> uplinks,
                        const std::vector<model::PortGroupStatus>& groups) {
  std::vector<text::TextRecord> ports;
  for (const std::string& uplink : uplinks) {
    ports.push_back(port(uplink, vds.spec.name + "-uplinks"));
  }
  for (const model::PortGroupStatus& group : groups) {
    if (group.spec.vds != vds.spec.name) continue;
    for (const std::string& adapter : group.adapters) {
      ports.push_back(port(client_of(adapter), group.spec.name));
    }
  }
  return {.title = vds.spec.name,
          .fields = {{"Name", vds.spec.name},
                     {"VDS ID", vds_id(vds.spec.name)},
                     {"Class", "cswitch"},
                     {"Num Ports", kPorts},
                     {"Used Ports", std::uint64_t{ports.size()}},
                     {"Configured Ports", kPorts},
                     {"MTU", std::uint64_t{vds.spec.mtu}},
                     {"CDP Status", "down"},
                     {"Beacon Timeout", std::int64_t{-1}},
                     {"Uplinks", std::move(uplinks)},
                     {"VMware Branded", false},
                     {"DVPort", std::move(ports)}}};
}

}  // namespace

text::TextRecord failover_record(const model::SwitchStatus& vds,
                                 const std::vector<model::PhysicalNic>& nics) {
  std::vector<std::string> uplinks = model::uplinks_of(vds.spec, vds.host);
  for (std::string& uplink : uplinks) uplink = shown_uplink(uplink, nics);
  std::vector<std::string> active;
  if (!uplinks.empty()) {
    active.push_back(uplinks.front());
    uplinks.erase(uplinks.begin());
  }
  return {.title = {},
          .fields = {{"Load Balancing", std::string(kLoadBalancing)},
                     {"Network Failure Detection", std::string(kFailureDetection)},
                     {"Notify Switches", true},
                     {"Failback", true},
                     {"Active Adapters", std::move(active)},
                     {"Standby Adapters", std::move(uplinks)},
                     {"Unused Adapters", std::vector<std::string>()}}};
}

std::string vds_id(std::string_view vds) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(hash(vds, i / 8) >> (8 * (i % 8)));
  }
  const std::span all(bytes);
  return fmt::format("{:02x}-{:02x}", fmt::join(all.first<8>(), " "),
                     fmt::join(all.last<8>(), " "));
}

std::string vds_port_id(std::string_view client) {
  return std::to_string(hash(client) % kIds);
}

std::string port_group_id(std::string_view group) {
  return fmt::format("dvportgroup-{}", hash(group) % kIds);
}

std::vector<text::TextRecord> dvs_records(const std::vector<model::SwitchStatus>& switches,
                                          const std::vector<model::PortGroupStatus>& groups,
                                          const std::vector<model::PhysicalNic>& nics) {
  std::vector<text::TextRecord> records;
  for (const model::SwitchStatus& vds : switches) {
    if (!vds.spec.hosts.contains(vds.host)) continue;
    std::vector<std::string> uplinks = model::uplinks_of(vds.spec, vds.host);
    for (std::string& uplink : uplinks) uplink = shown_uplink(uplink, nics);
    records.push_back(record(vds, std::move(uplinks), groups));
  }
  return records;
}

}  // namespace paravane::cli
