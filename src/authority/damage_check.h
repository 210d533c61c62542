// Whether a key and its certificate are still what they were when they were made: shown by
// using them, since a cut or flipped key may well be read.
//
// Stateless, any thread. Errors: kInvalidArgument (what is not as it must be).

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
