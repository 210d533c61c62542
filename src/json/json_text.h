// Converts between text and JSON values without exceptions. The text can come from an untrusted
// source, so its nesting depth is limited and duplicate keys are refused.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane {

// The limit exists because copying or printing a value uses stack for each level.
inline constexpr int kMaxJsonDepth = 32;

// Errors: kInvalidArgument (not JSON, one key twice in an object, or more levels than
// kMaxJsonDepth).
Result<nlohmann::json> parse_json(std::string_view text);
// Never fails: bytes that are not UTF-8 are replaced.
std::string print_json(const nlohmann::json& value);

}  // namespace paravane
