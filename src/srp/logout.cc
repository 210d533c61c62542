#include "srp/logout.h"

#include <fmt/core.h>

#include <string_view>

#include "wire/srp/response.h"

namespace paravane::srp {
namespace {

std::string_view words_of_logout(std::uint32_t reason) {
  using wire::srp::LogoutReason;
  switch (static_cast<LogoutReason>(reason)) {
    case LogoutReason::kNone: return "it gives no reason";
    case LogoutReason::kInactive: return "the connection was not used";
    case LogoutReason::kInvalidOpcode:
      return "it received a message of a kind that it does not know";
    case LogoutReason::kSpuriousResponse: return "it received an answer that it had not asked for";
    case LogoutReason::kAnotherLogin: return "the initiator has logged in anew";
    case LogoutReason::kBadOutFormat:
    case LogoutReason::kBadInFormat: return "it does not support the format of a buffer descriptor";
    case LogoutReason::kBadLength: return "it received a message of a wrong length";
  }
  return "for a reason that SRP does not define";
}

}  // namespace

std::string logout_sentence(std::uint32_t reason) {
  return fmt::format("the target has ended the session: {} (0x{:x})", words_of_logout(reason),
                     reason);
}

}  // namespace paravane::srp
