#include "cli/network_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace paravane::cli {
namespace {

std::string join(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

// "eth1", or of a team "eth1 (active),eth2 (standby)".
std::string shown_uplinks(const model::SwitchStatus& vds, const std::string& host) {
  std::vector<std::string> uplinks = model::uplinks_of(vds.spec, host);
  if (uplinks.size() > 1 && host == vds.host && !vds.active.empty()) {
    for (std::string& uplink : uplinks) uplink += uplink == vds.active ? " (active)" : " (standby)";
  }
  return or_dash(join(uplinks, ","));
}

}  // namespace

text::TextTable switch_table(const std::vector<model::SwitchStatus>& switches) {
  text::TextTable table(
      {"Name", "MTU", "Host", "Uplink", "Form", "Bridges", "Port Groups", "Problem"});
  for (const model::SwitchStatus& vds : switches) {
    const std::string groups = or_dash(join(vds.port_groups, ","));
    const auto add = [&](const std::string& host) {
      const bool here = host == vds.host;
      table.add({vds.spec.name, std::uint64_t{vds.spec.mtu}, or_dash(host),
                 shown_uplinks(vds, host),
                 here ? std::string(model::to_string(vds.form)) : std::string("-"),
                 here ? or_dash(join(vds.bridges, ",")) : std::string("-"), groups,
                 here ? join(vds.problems, "; ") : std::string()});
    };
    for (const auto& [host, uplink] : vds.spec.hosts) add(host);
    if (vds.spec.hosts.empty()) add("");
  }
  return table;
}

text::TextTable repair_table(const model::SwitchRepair& repair) {
  text::TextTable table({"VDS", "Interface", "Result", "What"});
  for (const model::MendedLink& link : repair.mended) {
    table.add({or_dash(link.vds), link.interface, std::string("mended"), link.text});
  }
  for (const model::SwitchStatus& vds : repair.switches) {
    for (const std::string& problem : vds.problems) {
      table.add({vds.spec.name, std::string("-"), std::string("problem"), problem});
    }
  }
  return table;
}

text::TextTable port_group_table(const std::vector<model::PortGroupStatus>& groups) {
  text::TextTable table({"Name", "VDS", "VLAN", "RoCE", "Routed", "Adapters"});
  for (const model::PortGroupStatus& group : groups) {
    table.add({group.spec.name, group.spec.vds, std::uint64_t{group.spec.vlan},
               std::string(model::roce_word(group.spec.native_roce)),
               std::string(model::routed_word(group.spec.routed)),
               or_dash(join(group.adapters, ","))});
  }
  return table;
}

}  // namespace paravane::cli
