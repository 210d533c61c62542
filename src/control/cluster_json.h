// Clusters as JSON: what the API takes and gives. docs/api.md shows each.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "control/cluster.h"

namespace paravane::control {

nlohmann::json to_json(const ClusterInit& init);
nlohmann::json to_json(const TokenRequest& request);
nlohmann::json to_json(const JoinToken& token);
nlohmann::json to_json(const ClusterStatus& status);

// Strict. Errors: kInvalidArgument.
Result<ClusterInit> cluster_init_from_json(const nlohmann::json& value);
Result<TokenRequest> token_request_from_json(const nlohmann::json& value);
// {"token": "..."}.
Result<std::string> join_request_from_json(const nlohmann::json& value);

// Lenient about unknown keys: the daemon may be newer than its client.
Result<JoinToken> join_token_from_json(const nlohmann::json& value);
Result<ClusterStatus> cluster_status_from_json(const nlohmann::json& value);

}  // namespace paravane::control
