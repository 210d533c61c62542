// Encodes bytes as Base64 text and decodes it (RFC 4648, section 4). JSON cannot contain arbitrary
// bytes, so code that puts bytes into JSON encodes them in this form.
//
// Stateless, any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paravane {

std::string base64_encode(std::string_view bytes);

// nullopt: `text` is not what base64_encode() returns for any bytes. Other spellings are not
// accepted.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace paravane
