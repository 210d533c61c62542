// One HTTP connection of the API: reads one request, has it answered, writes the
// answer. All of it within a limited time and size.

#pragma once

#include "base/unique_fd.h"
#include "control/api_handler.h"

namespace paravane::daemon {

// Blocks until the answer is out, the client has gone, or its time is up.
void serve_http(UniqueFd connection, control::ApiHandler& handler);

}  // namespace paravane::daemon
