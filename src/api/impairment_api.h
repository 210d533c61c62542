// Handles the API requests about impairments, which are faults such as loss and delay that an
// operator injects into the traffic of a VM. ApiHandler passes these requests on to this code.
//
// Stateless, any thread.

#pragma once

#include "api/api_handler.h"
#include "model/impairment_management.h"

namespace paravane::api {

// REQUIRES: the path is kImpairmentsPath.
inline constexpr const char* kImpairmentsPath = "/v1/impairments";
ApiResponse handle_impairment_request(model::ImpairmentManagement& management,
                                      const ApiRequest& request);

}  // namespace paravane::api
