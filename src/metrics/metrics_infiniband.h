// Metrics of the adapters in node_exporter's format for InfiniBand devices, with the same names,
// labels and units, so that dashboards made for those work.

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
