// without_ranges() removes the Range fields from an HTTP request. A server may ignore ranges (RFC
// 9110, 14.2). They are removed before httplib sees them, because versions before 0.16 parse them
// with std::regex, whose stack usage grows with each byte that a client sends.

#pragma once

#include <string>
#include <string_view>

namespace paravane::http {

// The body is not changed.
std::string without_ranges(std::string_view request);

}  // namespace paravane::http
