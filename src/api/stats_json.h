// Statistics of VMs and the status of the daemon, as JSON for the API. docs/api.md shows examples.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/stats.h"

namespace paravane::api {

nlohmann::json to_json(const model::Stats& stats);
nlohmann::json to_json(const model::DaemonStatus& status);
nlohmann::json to_json(const model::UpgradeStatus& upgrade);

// Ignores unknown keys. Errors: kInvalidArgument.
Result<model::Stats> stats_from_json(const nlohmann::json& value);
Result<model::DaemonStatus> daemon_status_from_json(const nlohmann::json& value);

}  // namespace paravane::api
