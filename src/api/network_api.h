// Handles the API requests about distributed switches and port groups. The path of such a request
// is /v1/repair, or it begins with /v1/vds or /v1/portgroups. ApiHandler passes these requests on
// to this code.
//
// Stateless, any thread.

#pragma once

#include <optional>

#include "api/api_handler.h"
#include "model/network_management.h"

namespace paravane::api {

// nullopt: the path belongs to other code.
std::optional<ApiResponse> handle_network_request(model::NetworkManagement& management,
                                                  const ApiRequest& request);

}  // namespace paravane::api
