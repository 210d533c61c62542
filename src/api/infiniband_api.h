// Handles the API requests about this host's virtual InfiniBand adapters and its part of the
// subnet. Their paths begin with /v1/infiniband. ApiHandler passes these requests on to this code.
//
// Stateless, any thread.

#pragma once

#include <optional>

#include "api/api_handler.h"
#include "model/infiniband_management.h"

namespace paravane::api {

inline constexpr const char* kIbAdaptersPath = "/v1/infiniband/adapters";
inline constexpr const char* kIbUplinksPath = "/v1/infiniband/uplinks";
inline constexpr const char* kIbFabricPath = "/v1/infiniband/fabric";
inline constexpr const char* kIbManagersPath = "/v1/infiniband/managers";
inline constexpr const char* kIbModulesPath = "/v1/infiniband/modules";
inline constexpr const char* kIbRestartPath = "/v1/infiniband/restart";

// nullopt: the path belongs to other code.
std::optional<ApiResponse> handle_infiniband_request(model::InfinibandManagement& management,
                                                     const ApiRequest& request);

}  // namespace paravane::api
