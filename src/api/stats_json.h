// Statistics and the daemon's state as JSON. docs/api.md shows examples.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/stats.h"

namespace paravane::api {

nlohmann::json to_json(const model::Stats& stats);
nlohmann::json to_json(const model::DaemonStatus& status);

// Lenient about unknown keys. Errors: kInvalidArgument.
Result<model::Stats> stats_from_json(const nlohmann::json& value);
Result<model::DaemonStatus> daemon_status_from_json(const nlohmann::json& value);

}  // namespace paravane::api
