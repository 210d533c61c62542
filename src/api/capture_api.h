// The API requests for captures. A part of ApiHandler.

#pragma once

#include "api/api_handler.h"
#include "model/capture_management.h"

namespace paravane::api {

inline constexpr const char* kCapturesPath = "/v1/captures";
// REQUIRES: the path is kCapturesPath, or begins with it and a slash.
ApiResponse handle_capture_request(model::CaptureManagement& management, const ApiRequest& request);

}  // namespace paravane::api
