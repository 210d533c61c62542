// Handles the API requests about this host's SRP storage adapters. Their paths begin with
// /v1/storage. ApiHandler passes these requests on to this code.
//
// Stateless, any thread.

#pragma once

#include <optional>

#include "api/api_handler.h"
#include "model/storage_management.h"

namespace paravane::api {

inline constexpr const char* kVmhbasPath = "/v1/storage/vmhbas";
inline constexpr const char* kSrpTargetsPath = "/v1/storage/targets";
inline constexpr const char* kScsiDevicesPath = "/v1/storage/devices";
inline constexpr const char* kLunPathsPath = "/v1/storage/paths";
inline constexpr const char* kRescanPath = "/v1/storage/rescan";

// nullopt: the path belongs to other code.
std::optional<ApiResponse> handle_storage_request(model::StorageManagement& management,
                                                  const ApiRequest& request);

}  // namespace paravane::api
