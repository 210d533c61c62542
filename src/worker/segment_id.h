// The segment number of model/segment.h as the engine's type.
//
// Any thread.

#pragma once

#include <string>

#include "model/adapter_name.h"
#include "model/distributed_switch.h"
#include "verbs/fabric_port.h"

namespace paravane::worker {

// Of `adapter` in a port group. An empty port group: the
// built-in switch. One that is not known: a network of the adapter's own, without peers.
verbs::SegmentId segment_of(const model::Network& network, const std::string& port_group,
                            const model::AdapterName& adapter);

}  // namespace paravane::worker
