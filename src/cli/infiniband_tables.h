// Virtual InfiniBand adapters of this host, and the links of its switch, as tables.

#pragma once

#include <string>
#include <vector>

#include "model/infiniband.h"
#include "text/text_table.h"

namespace paravane::cli {

// The output of `infiniband adapter list`, with a row for each port.
text::TextTable ib_adapter_table(const std::vector<model::IbAdapterStatus>& adapters);
// The output of `infiniband fabric list`: the line about the switch, which ends with a newline, and
// the table of its links.
std::string ib_switch_line(const model::IbFabric& fabric);
// A row for each uplink: of its VLANs, those that are joined.
text::TextTable ib_uplink_table(const std::vector<model::IbUplink>& uplinks);
text::TextTable ib_link_table(const std::vector<model::IbLink>& links);
text::TextTable ib_manager_table(const std::vector<model::IbManager>& managers);

}  // namespace paravane::cli
