// Converts the RoCE properties of port groups to the rules of networks (segments) in the RDMA
// engine's directory.
//
// Any thread.

#pragma once

#include <map>

#include "fabric/directory.h"
#include "model/distributed_switch.h"

namespace paravane::worker {

using NetworkRules = std::map<verbs::SegmentId, fabric::Directory::NetworkRules>;

// Port groups with the same switch and VLAN are one network. It is native if one of them is, and
// routed if all that are native are; its rules name the port group that decides.
NetworkRules network_rules(const model::Network& network);

}  // namespace paravane::worker
