// Refusals that several requests to the host share.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/api_error.h"

namespace paravane::host {

std::unexpected<control::ApiError> worker_is_busy();
std::unexpected<control::ApiError> no_such_adapter(const std::string& name, std::uint32_t number);
// Refused without force.
std::unexpected<control::ApiError> vms_attached(std::vector<std::string> names,
                                                std::string message);
std::unexpected<control::ApiError> vm_attached(const std::string& name);

}  // namespace paravane::host
