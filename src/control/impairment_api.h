// The requests about impairments. A part of ApiHandler.

#pragma once

#include "control/api_handler.h"
#include "control/impairment_management.h"

namespace paravane::control {

// REQUIRES: the path is kImpairmentsPath.
inline constexpr const char* kImpairmentsPath = "/v1/impairments";
ApiResponse handle_impairment_request(ImpairmentManagement& management, const ApiRequest& request);

}  // namespace paravane::control
