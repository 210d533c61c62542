// The NICs and RDMA devices of a host as JSON. The API and the messages between the daemon's two
// processes use this format. docs/api.md shows an example of each object.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/machine.h"

namespace paravane::api {

nlohmann::json to_json(const model::PhysicalNic& nic);
nlohmann::json to_json(const model::RdmaDevice& device);
nlohmann::json to_json(const model::RdmaStats& stats);
nlohmann::json to_json(const model::Machine& machine);

// Ignores unknown keys, because the daemon may be newer than its client. Refuses more devices or
// counters than the limits allow. Errors: kInvalidArgument.
Result<model::PhysicalNic> nic_from_json(const nlohmann::json& value);
Result<model::RdmaDevice> rdma_device_from_json(const nlohmann::json& value);
Result<model::RdmaStats> rdma_stats_from_json(const nlohmann::json& value);
Result<model::Machine> machine_from_json(const nlohmann::json& value);

}  // namespace paravane::api
