// Reads the daemon's configuration file, paravaned.toml. An unknown key, a wrong type or a value
// out of range is an error, which names the file, the line and the reason.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "settings/config.h"

namespace paravane::settings {

// Errors: kIo (cannot be read), kInvalidArgument ("FILE:LINE: reason").
Result<Config> load_config(const std::filesystem::path& file);

// The text of the file. Errors: kIo.
Result<std::string> read_config_text(const std::filesystem::path& file);

// The same for a text. `name` is used as the file name in messages.
Result<Config> parse_config(std::string_view text, std::string_view name);

}  // namespace paravane::settings
