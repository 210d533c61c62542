// Distributed switches as esxcli prints them: as one host sees them, with a line for each
// port. Numbers that vSphere chooses follow here from names, so that it stays the same;
// docs/esxcli.md says which values mean nothing here.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/distributed_switch.h"
#include "model/machine.h"
#include "text/text_records.h"

namespace paravane::cli {

// "50 33 8c 87 5f 05 cd 73-bc 4f 7c 4f 55 23 fc f8", of a switch's name.
std::string vds_id(std::string_view vds);
// "16", of what is plugged in; and "dvportgroup-4024" of a port group.
std::string vds_port_id(std::string_view client);
std::string port_group_id(std::string_view group);

// Those that the answering host is a member of.
std::vector<text::TextRecord> dvs_records(const std::vector<model::SwitchStatus>& switches,
                                          const std::vector<model::PortGroupStatus>& groups,
                                          const std::vector<model::PhysicalNic>& nics);

}  // namespace paravane::cli
