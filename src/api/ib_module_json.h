// Driver modules of a host's InfiniBand adapters as JSON, for the API and for the daemon's
// database. docs/api.md describes the format.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/ib_module_status.h"

namespace paravane::api {

nlohmann::json to_json(const model::IbModuleSetting& setting);
nlohmann::json to_json(const model::IbModuleChange& change);
nlohmann::json to_json(const model::IbModuleStatus& status);

// Parses a request. Refuses unknown keys and invalid values. Errors: kInvalidArgument.
Result<model::IbModuleChange> ib_module_change_from_json(const nlohmann::json& value);

// Parses a stored value, which a newer version may have written. Ignores unknown keys. What the
// options say is not judged. Errors: kInvalidArgument.
Result<model::IbModuleSetting> kept_ib_module_setting_from_json(const nlohmann::json& value);

// Parses a response. Errors: kInvalidArgument.
Result<model::IbModuleStatus> ib_module_status_from_json(const nlohmann::json& value);

}  // namespace paravane::api
