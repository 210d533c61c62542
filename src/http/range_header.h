// without_ranges(): an HTTP request without its Range fields. A server may pay ranges no
// heed (RFC 9110, 14.2), and httplib before 0.16 reads them with std::regex, whose stack
// grows with each byte of what a client has sent.

#pragma once

#include <string>
#include <string_view>

namespace paravane::http {

// The body is left as it is.
std::string without_ranges(std::string_view request);

}  // namespace paravane::http
