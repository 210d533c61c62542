// The API requests for switches and port groups: /v1/vds and /v1/portgroups. Stateless, as
// ApiHandler is.

#pragma once

#include <optional>

#include "api/api_handler.h"
#include "model/network_management.h"

namespace paravane::api {

// nullopt: the path is another part's.
std::optional<ApiResponse> handle_network_request(model::NetworkManagement& management,
                                                  const ApiRequest& request);

}  // namespace paravane::api
