// JSON that is kept with a sum of itself, so that what was damaged on the disk is not taken
// for what was written. Text without a sum is an older version's, and counts as it is.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::cluster {

// REQUIRES: an object, without "sum".
std::string print_kept(const nlohmann::json& value);
// The object as it was given. Errors: kInvalidArgument.
Result<nlohmann::json> parse_kept(std::string_view text);

}  // namespace paravane::cluster
