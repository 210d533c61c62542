// Impairments as JSON for the API. An impairment is a set of faults, such as loss and delay, that
// an operator injects into the traffic of a VM. docs/api.md shows an example.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/impairment.h"

namespace paravane::api {

nlohmann::json to_json(const model::Impairment& impairment);
nlohmann::json to_json(const model::ImpairmentStatus& status);

// Refuses unknown keys, and values that check_impairment() refuses. Errors: kInvalidArgument.
Result<model::Impairment> impairment_from_json(const nlohmann::json& value);

// Ignores unknown keys, because the daemon may be newer than its client.
Result<model::ImpairmentStatus> impairment_status_from_json(const nlohmann::json& value);

}  // namespace paravane::api
