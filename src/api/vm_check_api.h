// GET /v1/vms/NAME/check: checks the requirements of a VM before power-on. A part of ApiHandler.

#pragma once

#include <string>

#include "api/api_handler.h"

namespace paravane::api {

// After the VM's name.
inline constexpr std::string_view kVmCheck = "/check";

// `cluster` null: nothing is known of clusters.
ApiResponse handle_vm_check_request(model::Management& management,
                                    model::ClusterManagement* cluster, const ApiRequest& request,
                                    const std::string& name);

}  // namespace paravane::api
