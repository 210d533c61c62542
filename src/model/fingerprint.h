// Checks the text of a fingerprint: the SHA-256 of a certificate or public key, as 64 hex digits.

#pragma once

#include <string_view>

namespace paravane::model {

// Accepts lower case only, so that each fingerprint has only one text.
bool is_fingerprint(std::string_view text);

}  // namespace paravane::model
