// The response to GET /v1/vms/NAME/check as JSON. docs/api.md shows it with an example.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/result.h"
#include "model/check_row.h"

namespace paravane::api {

nlohmann::json to_json(const model::CheckRow& row);
// Lenient about unknown keys: the daemon may be newer than its client.
// Errors: kInvalidArgument.
Result<model::CheckRow> check_row_from_json(const nlohmann::json& value);

}  // namespace paravane::api
