// VMkernel interfaces, advanced settings and firewall rulesets as esxcli prints them;
// docs/esxcli.md says which values mean nothing here.

#pragma once

#include <string>
#include <vector>

#include "control/distributed_switch.h"
#include "control/machine.h"
#include "control/text_records.h"
#include "control/text_table.h"
#include "control/vmkernel.h"

namespace paravane::cli {

// network ip interface list.
std::vector<control::TextRecord> vmknic_records(const std::vector<control::VmknicStatus>& vmknics);
// network ip interface ipv4 get.
control::TextTable ipv4_table(const std::vector<control::VmknicStatus>& vmknics);
// esxcfg-vmknic -l, of 6.5.
std::string esxcfg_vmknics(const std::vector<control::VmknicStatus>& vmknics);
// rdma device vmknic list: those on a switch whose uplink on this host is the device's.
control::TextTable rdma_vmknic_table(const std::vector<control::RdmaDevice>& devices,
                                     const std::vector<control::VmknicStatus>& vmknics,
                                     const std::vector<control::SwitchStatus>& switches);
// system settings advanced list.
std::vector<control::TextRecord> setting_records(
    const std::vector<control::SettingValue>& settings);
// network firewall ruleset list.
control::TextTable ruleset_table(const std::vector<control::FirewallRuleset>& rulesets);

}  // namespace paravane::cli
