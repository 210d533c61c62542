// serve_http() serves one request of an HTTP client. It parses the request, calls the handler, and
// writes the response within a limited time.

#pragma once

#include <string_view>

#include "api/api_handler.h"
#include "base/unique_fd.h"

namespace paravane::http {

// Blocks until the response is sent, the client has disconnected, or the time limit has passed.
// Only `request` is parsed; nothing more is read from the connection. `without_memory` is the
// prepared response for a request that fails for lack of memory (refusal.h).
void serve_http(UniqueFd connection, std::string_view request, api::RequestHandler& handler,
                std::string_view without_memory = {}) noexcept;

}  // namespace paravane::http
