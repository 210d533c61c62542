// ApiError as it travels: {"error":{"code","message","remedy","vms"}} with an HTTP status.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "control/api_error.h"

namespace paravane::control {

std::string_view to_string(ApiErrorCode code);
int http_status(ApiErrorCode code);

nlohmann::json to_json(const ApiError& error);
// What a client makes of an answer that is no success. Never fails: an answer
// that is not ours becomes kInternal with the text.
ApiError api_error_from_body(int status, std::string_view body);

}  // namespace paravane::control
