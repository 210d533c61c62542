// Disables IPv6 on a link that Paravane owns, which rtnetlink cannot do. Otherwise a single router
// advertisement from behind the link could give this host a default route.

#pragma once

#include <string>

#include "base/result.h"

namespace paravane::ethernet {

// What the link had of IPv6 is gone; a kernel without IPv6 has nothing to turn off. True: it
// was on. Errors: kIo (/proc/sys cannot be written, as in a container).
Result<bool> turn_ipv6_off(const std::string& link);

}  // namespace paravane::ethernet
