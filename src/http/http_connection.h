// One HTTP connection of the API: parses the request that came in, has it
// answered, writes the answer within a limited time.

#pragma once

#include <string_view>

#include "api/api_handler.h"
#include "base/unique_fd.h"

namespace paravane::http {

// Blocks until the answer is out, the client has gone, or its time is up. Nothing
// more is read from the connection than `request`.
void serve_http(UniqueFd connection, std::string_view request, api::RequestHandler& handler);

}  // namespace paravane::http
