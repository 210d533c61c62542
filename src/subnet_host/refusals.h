// Refusals that parts of HostInfiniband share. Any thread.

#pragma once

#include <expected>

#include "model/api_error.h"

namespace paravane::subnet_host {

// The subnet's thread did not answer a question in its time.
std::unexpected<model::ApiError> thread_is_busy();

}  // namespace paravane::subnet_host
