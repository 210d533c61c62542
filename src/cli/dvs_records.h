// Distributed switches in the format of esxcli, with an entry for each port. The values are those
// of the host that answers the request. vSphere would assign ids and port numbers. This program
// derives them from names, so every call prints the same values.
//
// docs/esxcli.md lists the values that have no meaning in this program.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/distributed_switch.h"
#include "model/machine.h"
#include "text/text_records.h"

namespace paravane::cli {

// The id of the switch with this name, such as "50 33 8c 87 5f 05 cd 73-bc 4f 7c 4f 55 23 fc f8".
std::string vds_id(std::string_view vds);
// The id of the port that a client such as a NIC is connected to ("16"), and the id of a port group
// ("dvportgroup-4024").
std::string vds_port_id(std::string_view client);
std::string port_group_id(std::string_view group);

// How failover works, in esxcli's words: the one way that there is (docs/switch.md).
inline constexpr std::string_view kLoadBalancing = "explicit";
inline constexpr std::string_view kFailureDetection = "link";
// The uplinks of a switch on the answering host as a team, as they are set.
text::TextRecord failover_record(const model::SwitchStatus& vds,
                                 const std::vector<model::PhysicalNic>& nics);

// Records of the switches that the answering host is a member of.
std::vector<text::TextRecord> dvs_records(const std::vector<model::SwitchStatus>& switches,
                                          const std::vector<model::PortGroupStatus>& groups,
                                          const std::vector<model::PhysicalNic>& nics);

}  // namespace paravane::cli
