// The API requests for impairments. A part of ApiHandler.

#pragma once

#include "api/api_handler.h"
#include "model/impairment_management.h"

namespace paravane::api {

// REQUIRES: the path is kImpairmentsPath.
inline constexpr const char* kImpairmentsPath = "/v1/impairments";
ApiResponse handle_impairment_request(model::ImpairmentManagement& management,
                                      const ApiRequest& request);

}  // namespace paravane::api
