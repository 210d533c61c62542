// The API requests for the cluster. A part of ApiHandler.

#pragma once

#include <string_view>

#include "api/api_handler.h"
#include "model/cluster.h"

namespace paravane::api {

inline constexpr std::string_view kClusterPath = "/v1/cluster";
// REQUIRES: the path begins with kClusterPath.
ApiResponse handle_cluster_request(model::ClusterManagement& cluster, const ApiRequest& request);

}  // namespace paravane::api
