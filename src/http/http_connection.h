// One HTTP connection of the API: parses the request, has it handled, and writes the response
// within a limited time.

#pragma once

#include <string_view>

#include "api/api_handler.h"
#include "base/unique_fd.h"

namespace paravane::http {

// Blocks until the answer is out, the client has gone, or its time is up. Nothing
// more is read from the connection than `request`. `without_memory` is the whole answer to a
// request for which there is none (refusal.h); nothing is thrown.
void serve_http(UniqueFd connection, std::string_view request, api::RequestHandler& handler,
                std::string_view without_memory = {}) noexcept;

}  // namespace paravane::http
