// Impairments as JSON. docs/api.md shows them with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/impairment.h"

namespace paravane::api {

nlohmann::json to_json(const model::Impairment& impairment);
nlohmann::json to_json(const model::ImpairmentStatus& status);

// Strict: unknown keys are refused, and check_impairment() holds afterwards.
// Errors: kInvalidArgument.
Result<model::Impairment> impairment_from_json(const nlohmann::json& value);

// Lenient about unknown keys: the daemon may be newer than its client.
Result<model::ImpairmentStatus> impairment_status_from_json(const nlohmann::json& value);

}  // namespace paravane::api
