// Handles the API requests for the NICs and the RDMA devices of this host. ApiHandler passes these
// requests on to this code.
//
// Stateless, any thread.

#pragma once

#include <optional>

#include "api/api_handler.h"
#include "model/machine_management.h"

namespace paravane::api {

inline constexpr const char* kNicsPath = "/v1/host/nics";
inline constexpr const char* kRdmaDevicesPath = "/v1/host/rdma-devices";

// nullopt: the path belongs to other code.
std::optional<ApiResponse> handle_machine_request(model::MachineManagement& management,
                                                  const ApiRequest& request);

}  // namespace paravane::api
