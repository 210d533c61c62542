// Determines the name of this host among the hosts that share distributed switches.

#pragma once

#include <string>

namespace paravane::settings {

// Returns the configured name; if it is empty, the system's host name in lower case; if that cannot
// be used, "localhost", with a warning.
std::string host_name(const std::string& configured);

}  // namespace paravane::settings
