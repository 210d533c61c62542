// Switches and port groups as tables for an operator.

#pragma once

#include <vector>

#include "control/distributed_switch.h"
#include "control/text_table.h"

namespace paravane::cli {

// A row for each host of a switch; how the switch is made is known of the host that
// answers.
control::TextTable switch_table(const std::vector<control::SwitchStatus>& switches);
control::TextTable port_group_table(const std::vector<control::PortGroupStatus>& groups);

}  // namespace paravane::cli
