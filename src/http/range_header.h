// without_ranges(): an HTTP request without its Range fields. A server may ignore ranges (RFC
// 9110, 14.2), and httplib before 0.16 parses them with std::regex, whose stack usage grows with
// each byte that a client sends.

#pragma once

#include <string>
#include <string_view>

namespace paravane::http {

// The body is left as it is.
std::string without_ranges(std::string_view request);

}  // namespace paravane::http
