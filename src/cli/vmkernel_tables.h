// VMkernel interfaces, advanced settings and firewall rulesets as esxcli prints them;
// docs/esxcli.md says which values mean nothing here.

#pragma once

#include <string>
#include <vector>

#include "model/distributed_switch.h"
#include "model/machine.h"
#include "model/vmkernel.h"
#include "text/text_records.h"
#include "text/text_table.h"

namespace paravane::cli {

// network ip interface list.
std::vector<text::TextRecord> vmknic_records(const std::vector<model::VmknicStatus>& vmknics);
// network ip interface ipv4 get.
text::TextTable ipv4_table(const std::vector<model::VmknicStatus>& vmknics);
// esxcfg-vmknic -l, of 6.5.
std::string esxcfg_vmknics(const std::vector<model::VmknicStatus>& vmknics);
// rdma device vmknic list: those on a switch whose uplink on this host is the device's.
text::TextTable rdma_vmknic_table(const std::vector<model::RdmaDevice>& devices,
                                  const std::vector<model::VmknicStatus>& vmknics,
                                  const std::vector<model::SwitchStatus>& switches);
// system settings advanced list.
std::vector<text::TextRecord> setting_records(const std::vector<model::SettingValue>& settings);
// network firewall ruleset list.
text::TextTable ruleset_table(const std::vector<model::FirewallRuleset>& rulesets);

}  // namespace paravane::cli
