// JSON that is stored with its own checksum, so that damage on the disk is detected. Text without a
// checksum was written by an older version and is accepted unchecked.

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
