// A fingerprint: SHA-256 as 64 hex digits, of a certificate or of a public key.

#pragma once

#include <string_view>

namespace paravane::model {

// Lower case only: one fingerprint has one text.
bool is_fingerprint(std::string_view text);

}  // namespace paravane::model
