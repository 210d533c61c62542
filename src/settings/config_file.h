// Reads paravaned.toml. Nothing is guessed: an unknown key, a wrong type or a value out of range
// is an error with file, line and reason.

#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "settings/config.h"

namespace paravane::settings {

// Errors: kIo (cannot be read), kInvalidArgument ("FILE:LINE: reason").
Result<Config> load_config(const std::filesystem::path& file);

// As above, from text; `name` stands in messages.
Result<Config> parse_config(std::string_view text, std::string_view name);

}  // namespace paravane::settings
