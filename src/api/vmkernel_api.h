// The API requests for this host's configuration: /v1/host/configuration and everything below it.

#pragma once

#include <optional>

#include "api/api_handler.h"
#include "model/vmkernel.h"

namespace paravane::api {

inline constexpr std::string_view kVmkernelConfigurationPath = "/v1/host/configuration";

// nullopt: the path is not one of these.
std::optional<ApiResponse> handle_host_configuration_request(model::VmkernelManagement& management,
                                                             const ApiRequest& request);

}  // namespace paravane::api
