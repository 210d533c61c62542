// Converts the segment number of a port group (the number of its network, model/segment.h) to the
// RDMA engine's type.
//
// Any thread.

#pragma once

#include <string>

#include "model/adapter_name.h"
#include "model/distributed_switch.h"
#include "verbs/fabric_port.h"

namespace paravane::worker {

// The segment of `adapter` in a port group. An empty port group means the built-in switch. If the
// port group does not exist, the adapter is in a network of its own, without peers.
verbs::SegmentId segment_of(const model::Network& network, const std::string& port_group,
                            const model::AdapterName& adapter);

}  // namespace paravane::worker
