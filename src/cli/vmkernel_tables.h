// VMkernel interfaces, advanced settings and firewall rulesets of this host in the format of esxcli
// and esxcfg-vmknic. docs/esxcli.md lists the values that have no meaning in this program.

#pragma once

#include <string>
#include <vector>

#include "model/distributed_switch.h"
#include "model/machine.h"
#include "model/vmkernel.h"
#include "text/text_records.h"
#include "text/text_table.h"

namespace paravane::cli {

// The output of `network ip interface list`.
std::vector<text::TextRecord> vmknic_records(const std::vector<model::VmknicStatus>& vmknics);
// The output of `network ip interface ipv4 get`.
text::TextTable ipv4_table(const std::vector<model::VmknicStatus>& vmknics);
// The output of `esxcfg-vmknic -l` in ESXi 6.5.
std::string esxcfg_vmknics(const std::vector<model::VmknicStatus>& vmknics);
// The output of `rdma device vmknic list`. It lists the VMkernel interfaces on switches whose
// uplink on this host is the NIC of the RDMA device.
text::TextTable rdma_vmknic_table(const std::vector<model::RdmaDevice>& devices,
                                  const std::vector<model::VmknicStatus>& vmknics,
                                  const std::vector<model::SwitchStatus>& switches);
// The output of `system settings advanced list`.
std::vector<text::TextRecord> setting_records(const std::vector<model::SettingValue>& settings);
// The output of `network firewall ruleset list`.
text::TextTable ruleset_table(const std::vector<model::FirewallRuleset>& rulesets);

}  // namespace paravane::cli
