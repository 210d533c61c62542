// Rewords the error messages of the command line parser (CLI11) in the style of this program. A
// message that it does not recognize is returned unchanged.
//
// Stateless, any thread.

#pragma once

#include <string>
#include <string_view>

namespace paravane::cli {

// `error`: the value of CLI::Error::get_name(); `problem`: the text of the error.
std::string in_our_words(std::string_view error, const std::string& problem);

}  // namespace paravane::cli
