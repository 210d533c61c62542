// The complaints of the parser (CLI11) in our words. What is not known stays as it is.
//
// Pure; any thread.

#pragma once

#include <string>
#include <string_view>

namespace paravane::cli {

// `error`: CLI::Error::get_name(); `problem`: its text.
std::string in_our_words(std::string_view error, const std::string& problem);

}  // namespace paravane::cli
