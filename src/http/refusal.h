// What a client is told that cannot be served: one answer, made before it is needed, since
// what it tells of is that descriptors or memory have run out.

#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "model/api_error.h"

namespace paravane::http {

// A whole HTTP answer.
std::string make_refusal(const model::ApiError& error);

// Hears the client out for a moment, since some do not read an answer that comes before they
// have asked; then sends what there is room for and closes. Allocates nothing and opens nothing.
// REQUIRES: the socket does not block.
void tell_and_close(UniqueFd client, std::string_view refusal);

}  // namespace paravane::http
