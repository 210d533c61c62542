// Checks that a private key and its certificates are undamaged. A damaged key can often still be
// parsed, so the check signs data with the key and verifies the signature with the certificate.
//
// Stateless, any thread. Errors: kInvalidArgument (the message names what is damaged).

#pragma once

#include <string_view>

#include "base/result.h"

namespace paravane::authority {

// Checks that `certificate` verifies a signature by `key`. The same text may contain both.
Status check_key(std::string_view key, std::string_view certificate);

// Checks that `issuer`, which may be the certificate itself, signed the certificate. The check
// ignores the time in which the certificate is valid.
Status check_signature(std::string_view certificate, std::string_view issuer);

}  // namespace paravane::authority
