// Tables of distributed switches, of port groups, and of the results of a repair, for the commands
// about switches and port groups.

#pragma once

#include <vector>

#include "model/distributed_switch.h"
#include "text/text_table.h"

namespace paravane::cli {

// The table has a row for each host of a switch. Only the row of the answering host shows the form,
// the bridges and the problems of the switch.
text::TextTable switch_table(const std::vector<model::SwitchStatus>& switches);
// The interfaces of this host that were repaired, and the problems of its switches that remain.
text::TextTable repair_table(const model::SwitchRepair& repair);
text::TextTable port_group_table(const std::vector<model::PortGroupStatus>& groups);

}  // namespace paravane::cli
