// The metrics that node_exporter has of a host's InfiniBand devices, of our adapters, so
// that dashboards for those work: the same names, labels and units.

#pragma once

#include <cstdint>

#include "metrics/family_set.h"
#include "metrics/metrics_snapshot.h"
#include "model/vm.h"

namespace paravane::metrics {

// What the guest is told of its port: 4 lanes of EDR.
inline constexpr double kPortBytesPerSecond = 100e9 / 8;

// `place`: which of the VM's adapters.
void add_infiniband(const VmMetrics& vm, std::size_t place, FamilySet& families);

}  // namespace paravane::metrics
