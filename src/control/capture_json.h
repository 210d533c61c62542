// Captures as JSON; docs/api.md is the description.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "control/capture.h"

namespace paravane::control {

nlohmann::json to_json(const CaptureSpec& spec);
nlohmann::json to_json(const CaptureStatus& status);
nlohmann::json to_json(const CapturePackets& packets);

// Errors: kInvalidArgument.
Result<CaptureSpec> capture_spec_from_json(const nlohmann::json& value);
Result<CaptureStatus> capture_status_from_json(const nlohmann::json& value);
Result<CapturePackets> capture_packets_from_json(const nlohmann::json& value);

}  // namespace paravane::control
