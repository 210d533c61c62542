// One row of the response to GET /v1/vms/NAME/check as JSON. Each row is one requirement for
// powering on a VM. docs/api.md shows an example.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/result.h"
#include "model/check_row.h"

namespace paravane::api {

nlohmann::json to_json(const model::CheckRow& row);
// Ignores unknown keys, because the daemon may be newer than its client. Errors: kInvalidArgument.
Result<model::CheckRow> check_row_from_json(const nlohmann::json& value);

}  // namespace paravane::api
