// The response to a client that cannot be served. It is prepared in advance, because it reports
// that descriptors or memory have run out.

#pragma once

#include <string>
#include <string_view>

#include "api/api_handler.h"
#include "base/unique_fd.h"

namespace paravane::http {

// `answer` as it goes over the connection. REQUIRES: its status is 503.
std::string make_refusal(const api::ApiResponse& answer);

// Hears the client out for a moment, since some do not read an answer that comes before they
// have asked; then sends what there is room for and closes. Allocates nothing and opens nothing.
// REQUIRES: the socket does not block.
void tell_and_close(UniqueFd client, std::string_view refusal);

}  // namespace paravane::http
