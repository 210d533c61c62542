// Captures of an adapter's traffic, and the captured packets, as JSON for the API. docs/api.md
// describes the format.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/capture.h"

namespace paravane::api {

nlohmann::json to_json(const model::CaptureSpec& spec);
nlohmann::json to_json(const model::CaptureStatus& status);
nlohmann::json to_json(const model::CapturePackets& packets);

// Errors: kInvalidArgument.
Result<model::CaptureSpec> capture_spec_from_json(const nlohmann::json& value);
Result<model::CaptureStatus> capture_status_from_json(const nlohmann::json& value);
Result<model::CapturePackets> capture_packets_from_json(const nlohmann::json& value);

}  // namespace paravane::api
