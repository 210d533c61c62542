// The name of this host among those that share switches.

#pragma once

#include <string>

namespace paravane::settings {

// As configured; else the system's, in lower case; else "localhost", with a warning.
std::string host_name(const std::string& configured);

}  // namespace paravane::settings
