// ApiError as JSON, in the form {"error":{"code","message","remedy","vms"}}, and the HTTP status
// that belongs to each error code.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "model/api_error.h"

namespace paravane::api {

std::string_view to_string(model::ApiErrorCode code);
int http_status(model::ApiErrorCode code);

nlohmann::json to_json(const model::ApiError& error);
// Converts the body of an unsuccessful response to an error. Never fails; a body in another format
// becomes kInternal with its text.
model::ApiError api_error_from_body(int status, std::string_view body);

}  // namespace paravane::api
