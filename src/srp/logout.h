// Why a target has ended a session, in words (r16a, 6.6).
//
// A pure function; any thread.

#pragma once

#include <cstdint>
#include <string>

namespace paravane::srp {

// For any reason. Without a dot at its end.
std::string logout_sentence(std::uint32_t reason);

}  // namespace paravane::srp
