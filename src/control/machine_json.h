// NICs and RDMA devices as JSON: what the API gives, and what the daemon's two processes
// tell each other. docs/api.md shows each with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "control/machine.h"

namespace paravane::control {

nlohmann::json to_json(const PhysicalNic& nic);
nlohmann::json to_json(const RdmaDevice& device);
nlohmann::json to_json(const RdmaStats& stats);
nlohmann::json to_json(const Machine& machine);

// Lenient about unknown keys: the daemon may be newer than its client. No more devices
// and counters than there may be. Errors: kInvalidArgument.
Result<PhysicalNic> nic_from_json(const nlohmann::json& value);
Result<RdmaDevice> rdma_device_from_json(const nlohmann::json& value);
Result<RdmaStats> rdma_stats_from_json(const nlohmann::json& value);
Result<Machine> machine_from_json(const nlohmann::json& value);

}  // namespace paravane::control
