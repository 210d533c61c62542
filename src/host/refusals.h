// Defines errors that the Host returns for more than one kind of request.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/left_out.h"

namespace paravane::host {

std::unexpected<model::ApiError> worker_is_busy();
std::unexpected<model::ApiError> no_such_adapter(const std::string& name, std::uint32_t number);
// The object is stored but its record is damaged, so it cannot be used.
std::unexpected<model::ApiError> is_left_out(const model::LeftOut& one);
// Errors of requests that were refused because a VMM is attached and `force` was not set.
std::unexpected<model::ApiError> vms_attached(std::vector<std::string> names, std::string message);
std::unexpected<model::ApiError> vm_attached(const std::string& name);

}  // namespace paravane::host
