// Handles the API requests about captures, which record the traffic of a VM's adapter as packets.
// ApiHandler passes these requests on to this code.
//
// Stateless, any thread.

#pragma once

#include "api/api_handler.h"
#include "model/capture_management.h"

namespace paravane::api {

inline constexpr const char* kCapturesPath = "/v1/captures";
// REQUIRES: the path is kCapturesPath, or begins with kCapturesPath and a slash.
ApiResponse handle_capture_request(model::CaptureManagement& management, const ApiRequest& request);

}  // namespace paravane::api
