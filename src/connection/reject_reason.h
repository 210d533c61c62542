// What a peer's reason for rejecting a connection means for an operator (IBTA volume 1, 12.6.7.2):
// a cause, and what to do about it. Pure functions; any thread.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paravane::connection {

struct ReasonText {
  std::string_view cause;   // a sentence without a full stop: "no SRP target listens there"
  std::string_view remedy;  // a sentence without a full stop
};

// For each reason, also for one that IBTA does not know.
ReasonText text_of(std::uint16_t reason);

// Both, with the reason's number: "CAUSE (reject reason 8): REMEDY".
std::string sentence_of(std::uint16_t reason);

}  // namespace paravane::connection
