// Clusters as JSON, as the API receives and returns them. docs/api.md shows each.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/cluster.h"

namespace paravane::api {

nlohmann::json to_json(const model::ClusterInit& init);
nlohmann::json to_json(const model::TokenRequest& request);
nlohmann::json to_json(const model::JoinToken& token);
nlohmann::json to_json(const model::ClusterStatus& status);
nlohmann::json to_json(const std::vector<model::ClusterAdapter>& adapters);

// Strict. Errors: kInvalidArgument.
Result<model::ClusterInit> cluster_init_from_json(const nlohmann::json& value);
Result<model::TokenRequest> token_request_from_json(const nlohmann::json& value);
// {"token": "..."}.
Result<std::string> join_request_from_json(const nlohmann::json& value);
// {"accept": true}, and nothing else.
Result<bool> restore_request_from_json(const nlohmann::json& value);

// Lenient about unknown keys: the daemon may be newer than its client.
Result<model::JoinToken> join_token_from_json(const nlohmann::json& value);
Result<model::ClusterStatus> cluster_status_from_json(const nlohmann::json& value);
Result<std::vector<model::ClusterAdapter>> cluster_adapters_from_json(const nlohmann::json& value);

}  // namespace paravane::api
