// turn_ipv6_off(): disables IPv6 on a network interface that Paravane has created. Otherwise a
// router advertisement that arrives through the interface could give this host a default route. The
// function writes the setting to /proc/sys, because rtnetlink cannot change it.

#pragma once

#include <string>

#include "base/result.h"

namespace paravane::ethernet {

// Whether IPv6 is enabled on the interface. Errors: kIo.
Result<bool> is_ipv6_on(const std::string& link);

// Removes all IPv6 addresses of the interface. Does nothing if the kernel does not support IPv6.
// True: IPv6 was enabled. Errors: kIo (/proc/sys cannot be written, as in a container).
Result<bool> turn_ipv6_off(const std::string& link);

}  // namespace paravane::ethernet
