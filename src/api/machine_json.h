// NICs and RDMA devices as JSON, for the API and between the daemon's two processes. docs/api.md
// shows each with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/machine.h"

namespace paravane::api {

nlohmann::json to_json(const model::PhysicalNic& nic);
nlohmann::json to_json(const model::RdmaDevice& device);
nlohmann::json to_json(const model::RdmaStats& stats);
nlohmann::json to_json(const model::Machine& machine);

// Lenient about unknown keys: the daemon may be newer than its client. No more devices
// and counters than there may be. Errors: kInvalidArgument.
Result<model::PhysicalNic> nic_from_json(const nlohmann::json& value);
Result<model::RdmaDevice> rdma_device_from_json(const nlohmann::json& value);
Result<model::RdmaStats> rdma_stats_from_json(const nlohmann::json& value);
Result<model::Machine> machine_from_json(const nlohmann::json& value);

}  // namespace paravane::api
