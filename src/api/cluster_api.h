// Handles the API requests about the cluster that this host is in, such as requests to create, join
// or leave a cluster. ApiHandler passes these requests on to this code.
//
// Stateless, any thread.

#pragma once

#include <string_view>

#include "api/api_handler.h"
#include "model/cluster.h"

namespace paravane::api {

inline constexpr std::string_view kClusterPath = "/v1/cluster";
// REQUIRES: the path begins with kClusterPath.
ApiResponse handle_cluster_request(model::ClusterManagement& cluster, const ApiRequest& request);

}  // namespace paravane::api
