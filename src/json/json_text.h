// Converts between text and JSON values, without exceptions. The text may come from a stranger:
// its nesting is limited, and duplicate keys are refused.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane {

// To copy or to print a value takes stack for each level of it.
inline constexpr int kMaxJsonDepth = 32;

// Errors: kInvalidArgument (not JSON, one key twice in an object, or more levels than
// kMaxJsonDepth).
Result<nlohmann::json> parse_json(std::string_view text);
// Never fails: bytes that are not UTF-8 are replaced.
std::string print_json(const nlohmann::json& value);

}  // namespace paravane
