// The API requests for the hardware inventory of the host. A part of ApiHandler.

#pragma once

#include <optional>

#include "api/api_handler.h"
#include "model/machine_management.h"

namespace paravane::api {

inline constexpr const char* kNicsPath = "/v1/host/nics";
inline constexpr const char* kRdmaDevicesPath = "/v1/host/rdma-devices";

// nullopt: the path is another's.
std::optional<ApiResponse> handle_machine_request(model::MachineManagement& management,
                                                  const ApiRequest& request);

}  // namespace paravane::api
