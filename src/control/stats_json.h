// Statistics and the daemon's state as JSON. docs/api.md shows examples.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "control/stats.h"

namespace paravane::control {

nlohmann::json to_json(const Stats& stats);
nlohmann::json to_json(const DaemonStatus& status);

// Lenient about unknown keys. Errors: kInvalidArgument.
Result<Stats> stats_from_json(const nlohmann::json& value);
Result<DaemonStatus> daemon_status_from_json(const nlohmann::json& value);

}  // namespace paravane::control
