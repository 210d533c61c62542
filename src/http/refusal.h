// Prepares and sends the response for a client that cannot be served because the process is out of
// descriptors or memory. The response is created when the server starts, because creating it at the
// time of a shortage would need memory.

#pragma once

#include <string>
#include <string_view>

#include "api/api_handler.h"
#include "base/unique_fd.h"

namespace paravane::http {

// The bytes of `answer` as an HTTP response. REQUIRES: its status is 503.
std::string make_refusal(const api::ApiResponse& answer);

// Reads from the client for a moment, since some clients ignore a response that comes before they
// have sent their request. Then sends as much of `refusal` as the socket accepts, and closes it.
// Allocates no memory and opens no descriptors. REQUIRES: the socket is non-blocking.
void tell_and_close(UniqueFd client, std::string_view refusal);

}  // namespace paravane::http
