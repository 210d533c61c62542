#include "cli/vmkernel_tables.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/dvs_records.h"

namespace paravane::cli {

using model::RdmaDevice;
using model::SwitchStatus;
using model::VmknicStatus;
using text::TextRecord;

namespace {

constexpr const char* kNetStack = "defaultTcpipStack";
constexpr const char* kNone = "N/A";
constexpr std::uint64_t kSegmentSize = 65535;  // vSphere's "TSO MSS"

std::string shown_mac(const model::VmknicStatus& vmknic) {
  return vmknic.spec.mac ? model::format_mac(*vmknic.spec.mac) : kNone;
}

std::string or_none(const std::string& text) {
  return text.empty() ? kNone : text;
}

bool is_enabled(const model::VmknicStatus& vmknic) {
  return vmknic.problem.empty();
}

// What an operator has given it, or Linux: nothing here is asked of a DHCP server.
const char* address_type(const model::VmknicStatus& vmknic) {
  return vmknic.spec.ipv4 ? "STATIC" : "NONE";
}

text::TextRecord record(const model::VmknicStatus& vmknic) {
  const bool on_switch = !vmknic.vds.empty();
  return {.title = vmknic.spec.name,
          .fields = {{"Name", vmknic.spec.name},
                     {"MAC Address", shown_mac(vmknic)},
                     {"Enabled", is_enabled(vmknic)},
                     {"Portset", on_switch ? "DvsPortset-0" : "vSwitch0"},
                     {"Portgroup", vmknic.spec.port_group},
                     {"Netstack Instance", kNetStack},
                     {"VDS Name", or_none(vmknic.vds)},
                     {"VDS UUID", on_switch ? vds_id(vmknic.vds) : kNone},
                     {"VDS Port", on_switch ? vds_port_id(vmknic.spec.name) : kNone},
                     {"VDS Connection", on_switch ? vds_port_id(vmknic.vds) : kNone},
                     {"Opaque Network ID", kNone},
                     {"Opaque Network Type", kNone},
                     {"External ID", kNone},
                     {"MTU", std::uint64_t{vmknic.mtu}},
                     {"TSO MSS", kSegmentSize},
                     {"Linux Interface", or_none(vmknic.interface)},
                     {"PVRDMA", vmknic.tagged},
                     {"Problem", or_none(vmknic.problem)}}};
}

// The numbers of a setting that is none are 0, as vSphere has it.
text::TextRecord record(const model::SettingValue& value) {
  const model::AdvancedSetting* setting = model::find_setting(value.path);
  const bool is_number =
      setting != nullptr && setting->type == model::AdvancedSetting::Type::kInteger;
  const std::string standard(setting == nullptr ? "" : setting->standard);
  const auto number = [is_number](const std::string& text) {
    return is_number ? std::int64_t{std::stoll(text)} : std::int64_t{0};
  };
  return {.title = "",
          .fields = {{"Path", value.path},
                     {"Type", is_number ? "integer" : "string"},
                     {"Int Value", number(value.value)},
                     {"Default Int Value", number(standard)},
                     {"Min Value", setting == nullptr ? std::int64_t{0} : setting->min},
                     {"Max Value", setting == nullptr ? std::int64_t{0} : setting->max},
                     {"String Value", is_number ? "" : value.value},
                     {"Default String Value", is_number ? "" : standard},
                     {"Valid Characters", setting == nullptr ? "" : std::string(setting->valid)},
                     {"Description", setting == nullptr ? "" : std::string(setting->description)}}};
}

}  // namespace

std::vector<text::TextRecord> vmknic_records(const std::vector<model::VmknicStatus>& vmknics) {
  std::vector<text::TextRecord> records;
  records.reserve(vmknics.size());
  for (const model::VmknicStatus& vmknic : vmknics) records.push_back(record(vmknic));
  return records;
}

text::TextTable ipv4_table(const std::vector<model::VmknicStatus>& vmknics) {
  text::TextTable table({"Name", "IPv4 Address", "IPv4 Netmask", "IPv4 Broadcast", "Address Type",
                         "Gateway", "DHCP DNS"});
  for (const model::VmknicStatus& vmknic : vmknics) {
    const Ipv4Interface ipv4 = vmknic.spec.ipv4.value_or(Ipv4Interface{});
    const bool has = vmknic.spec.ipv4.has_value();
    table.add({vmknic.spec.name, format_ipv4(ipv4.address),
               format_ipv4(has ? ipv4.mask() : std::uint32_t{0}),
               format_ipv4(has ? ipv4.broadcast() : std::uint32_t{0}),
               std::string(address_type(vmknic)), std::string("0.0.0.0"), false});
  }
  return table;
}

std::string esxcfg_vmknics(const std::vector<model::VmknicStatus>& vmknics) {
  const auto line = [](const auto&... cells) {
    return fmt::format(
        "{:<10} {:<39} {:<9} {:<15} {:<15} {:<15} {:<17} {:<7} {:<7} {:<7} {:<19} {}\n", cells...);
  };
  std::string text =
      line("Interface", "Port Group/DVPort/Opaque Network", "IP Family", "IP Address", "Netmask",
           "Broadcast", "MAC Address", "MTU", "TSO MSS", "Enabled", "Type", "NetStack");
  for (const model::VmknicStatus& vmknic : vmknics) {
    const Ipv4Interface ipv4 = vmknic.spec.ipv4.value_or(Ipv4Interface{});
    const bool has = vmknic.spec.ipv4.has_value();
    text += line(vmknic.spec.name, vmknic.spec.port_group, "IPv4",
                 has ? format_ipv4(ipv4.address) : kNone, has ? format_ipv4(ipv4.mask()) : kNone,
                 has ? format_ipv4(ipv4.broadcast()) : kNone, shown_mac(vmknic), vmknic.mtu,
                 kSegmentSize, is_enabled(vmknic), address_type(vmknic), kNetStack);
  }
  return text;
}

text::TextTable rdma_vmknic_table(const std::vector<model::RdmaDevice>& devices,
                                  const std::vector<model::VmknicStatus>& vmknics,
                                  const std::vector<model::SwitchStatus>& switches) {
  text::TextTable table({"Device", "Vmknic", "NetStack"});
  for (const model::RdmaDevice& device : devices) {
    for (const model::VmknicStatus& vmknic : vmknics) {
      const auto vds = std::ranges::find(
          switches, vmknic.vds, [](const model::SwitchStatus& one) { return one.spec.name; });
      if (vds == switches.end()) continue;
      const auto uplink = vds->spec.hosts.find(vds->host);
      if (uplink == vds->spec.hosts.end() || uplink->second != device.paired_link) continue;
      table.add({device.name, vmknic.spec.name, std::string(kNetStack)});
    }
  }
  return table;
}

std::vector<text::TextRecord> setting_records(const std::vector<model::SettingValue>& settings) {
  std::vector<text::TextRecord> records;
  records.reserve(settings.size());
  for (const model::SettingValue& setting : settings) records.push_back(record(setting));
  return records;
}

text::TextTable ruleset_table(const std::vector<model::FirewallRuleset>& rulesets) {
  text::TextTable table({"Name", "Enabled"});
  for (const model::FirewallRuleset& ruleset : rulesets) {
    table.add({ruleset.name, ruleset.enabled});
  }
  return table;
}

}  // namespace paravane::cli
