// Errors that several requests to the host share.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/left_out.h"

namespace paravane::host {

std::unexpected<model::ApiError> worker_is_busy();
std::unexpected<model::ApiError> no_such_adapter(const std::string& name, std::uint32_t number);
// It is kept, and cannot be used.
std::unexpected<model::ApiError> is_left_out(const model::LeftOut& one);
// Refused without force.
std::unexpected<model::ApiError> vms_attached(std::vector<std::string> names, std::string message);
std::unexpected<model::ApiError> vm_attached(const std::string& name);

}  // namespace paravane::host
