// Handles GET /v1/vms/NAME/check, which checks the requirements for powering on a VM. ApiHandler
// passes these requests on to this code.
//
// Stateless, any thread.

#pragma once

#include <string>

#include "api/api_handler.h"

namespace paravane::api {

// The part of the path after the name of the VM.
inline constexpr std::string_view kVmCheck = "/check";

// `cluster`: null if the daemon does not support clusters.
ApiResponse handle_vm_check_request(model::Management& management,
                                    model::ClusterManagement* cluster, const ApiRequest& request,
                                    const std::string& name);

}  // namespace paravane::api
