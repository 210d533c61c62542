// without_ranges() removes the Range fields from an HTTP request, which a server is allowed to
// ignore (RFC 9110, 14.2). They are removed before httplib parses the request. Versions of httplib
// before 0.16 parse them with std::regex, which uses more stack with each byte that a client sends.

#pragma once

#include <string>
#include <string_view>

namespace paravane::http {

// The body is not changed.
std::string without_ranges(std::string_view request);

}  // namespace paravane::http
