// Requests and responses about a cluster of hosts, as JSON for the API. docs/api.md shows an
// example of each.
//
// Stateless, any thread.

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

// Refuses unknown keys. Errors: kInvalidArgument.
Result<model::ClusterInit> cluster_init_from_json(const nlohmann::json& value);
Result<model::TokenRequest> token_request_from_json(const nlohmann::json& value);
// Parses {"token": "..."}.
Result<std::string> join_request_from_json(const nlohmann::json& value);
// Parses {"accept": true}. No other content is allowed.
Result<bool> restore_request_from_json(const nlohmann::json& value);

// Ignores unknown keys, because the daemon may be newer than its client.
Result<model::JoinToken> join_token_from_json(const nlohmann::json& value);
Result<model::ClusterStatus> cluster_status_from_json(const nlohmann::json& value);
Result<std::vector<model::ClusterAdapter>> cluster_adapters_from_json(const nlohmann::json& value);

}  // namespace paravane::api
