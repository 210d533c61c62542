// Switches and port groups as tables for an operator.

#pragma once

#include <vector>

#include "model/distributed_switch.h"
#include "text/text_table.h"

namespace paravane::cli {

// A row for each host of a switch; how the switch is made is known of the host that
// answers.
text::TextTable switch_table(const std::vector<model::SwitchStatus>& switches);
// What was mended, and of this host's part of the switches what could not be.
text::TextTable repair_table(const model::SwitchRepair& repair);
text::TextTable port_group_table(const std::vector<model::PortGroupStatus>& groups);

}  // namespace paravane::cli
