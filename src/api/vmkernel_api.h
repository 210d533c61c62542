// Handles the API requests about the configuration of this host, which consists of VMkernel
// interfaces, advanced settings and firewall rulesets. Their paths begin with
// /v1/host/configuration. ApiHandler passes these requests on to this code.
//
// Stateless, any thread.

#pragma once

#include <optional>

#include "api/api_handler.h"
#include "model/vmkernel.h"

namespace paravane::api {

inline constexpr std::string_view kVmkernelConfigurationPath = "/v1/host/configuration";

// nullopt: the path belongs to other code.
std::optional<ApiResponse> handle_host_configuration_request(model::VmkernelManagement& management,
                                                             const ApiRequest& request);

}  // namespace paravane::api
