// Base64 (RFC 4648, section 4), which carries bytes in JSON.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paravane {

std::string base64_encode(std::string_view bytes);

// nullopt: not the one text that base64_encode() makes of some bytes.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace paravane
