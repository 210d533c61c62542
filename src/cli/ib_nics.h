// What a host's InfiniBand adapters add to the list of its NICs: their IPoIB uplinks, and their
// ports of type Ethernet, which stand for NICs and are called "vmnic13.p2" by bus and port (guide,
// 4.2.3.2).

#pragma once

#include <vector>

#include "model/infiniband.h"
#include "model/machine.h"

namespace paravane::cli {

// `nics`, and these after them.
std::vector<model::PhysicalNic> with_ib_nics(std::vector<model::PhysicalNic> nics,
                                             const std::vector<model::IbUplink>& uplinks,
                                             const std::vector<model::IbAdapterStatus>& adapters);

}  // namespace paravane::cli
