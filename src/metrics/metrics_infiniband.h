// Adds metrics of the adapters under the names, labels and units that Prometheus' node_exporter
// uses for InfiniBand devices, so that dashboards made for node_exporter also work for Paravane.

#pragma once

#include <cstdint>

#include "metrics/family_set.h"
#include "metrics/metrics_snapshot.h"
#include "model/vm.h"

namespace paravane::metrics {

// The port speed that the device reports to the guest: 4 lanes of EDR.
inline constexpr double kPortBytesPerSecond = 100e9 / 8;

// `place`: the index of the adapter in `vm.adapters`.
void add_infiniband(const VmMetrics& vm, std::size_t place, FamilySet& families);

}  // namespace paravane::metrics
