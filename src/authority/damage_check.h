// Checks that a private key and its certificate are undamaged, by signing and verifying with them:
// a damaged key can still be parsed.
//
// Stateless, any thread. Errors: kInvalidArgument (the message names what is damaged).

#pragma once

#include <string_view>

#include "base/result.h"

namespace paravane::authority {

// That what `key` signs is good by `certificate`. One text may hold both.
Status check_key(std::string_view key, std::string_view certificate);

// That `issuer`, which may be the certificate itself, has signed it; whether it is in force
// is another matter.
Status check_signature(std::string_view certificate, std::string_view issuer);

}  // namespace paravane::authority
