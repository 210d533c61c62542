// The requests about captures. A part of ApiHandler.

#pragma once

#include "control/api_handler.h"
#include "control/capture_management.h"

namespace paravane::control {

inline constexpr const char* kCapturesPath = "/v1/captures";
// REQUIRES: the path is kCapturesPath, or begins with it and a slash.
ApiResponse handle_capture_request(CaptureManagement& management, const ApiRequest& request);

}  // namespace paravane::control
