// Turning IPv6 off on a link of ours, for which rtnetlink has no word. Without that whoever is
// behind the link gives this host a default route, with one router advertisement.

#pragma once

#include <string>

#include "base/result.h"

namespace paravane::ethernet {

// What the link had of IPv6 is gone; a kernel without IPv6 has nothing to turn off. True: it
// was on. Errors: kIo (/proc/sys cannot be written, as in a container).
Result<bool> turn_ipv6_off(const std::string& link);

}  // namespace paravane::ethernet
