// Impairments as JSON. docs/api.md shows them with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "control/impairment.h"

namespace paravane::control {

nlohmann::json to_json(const Impairment& impairment);
nlohmann::json to_json(const ImpairmentStatus& status);

// Strict: unknown keys are refused, and check_impairment() holds afterwards.
// Errors: kInvalidArgument.
Result<Impairment> impairment_from_json(const nlohmann::json& value);

// Lenient about unknown keys: the daemon may be newer than its client.
Result<ImpairmentStatus> impairment_status_from_json(const nlohmann::json& value);

}  // namespace paravane::control
