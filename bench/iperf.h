// iperf3 with one stream between the two networks, a side on each core: what anybody
// gets over this wire.

#pragma once

#include "bench/cores.h"
#include "bench/traffic.h"
#include "bench/two_networks.h"

namespace paravane::bench {

Traffic iperf(const Cores& cores, const TwoNetworks& networks);

}  // namespace paravane::bench
