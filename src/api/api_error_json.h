// ApiError in JSON: {"error":{"code","message","remedy","vms"}} with an HTTP status.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "model/api_error.h"

namespace paravane::api {

std::string_view to_string(model::ApiErrorCode code);
int http_status(model::ApiErrorCode code);

nlohmann::json to_json(const model::ApiError& error);
// What a client makes of an answer that is no success. Never fails: an answer
// that is not ours becomes kInternal with the text.
model::ApiError api_error_from_body(int status, std::string_view body);

}  // namespace paravane::api
