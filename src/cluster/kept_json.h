// JSON text that contains its own checksum. The checksum is used to detect damage on the disk. Text
// without a checksum was written by an older version and is accepted without a check.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::cluster {

// REQUIRES: `value` is an object without the key "sum".
std::string print_kept(const nlohmann::json& value);
// Returns the object that was passed to print_kept(). Errors: kInvalidArgument.
Result<nlohmann::json> parse_kept(std::string_view text);

}  // namespace paravane::cluster
