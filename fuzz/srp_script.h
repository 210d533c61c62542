// The acts of srp_session_fuzz's input, each one byte and then what it takes.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class SrpAct : std::uint8_t {
  kSubmit,  // LUN u8, direction u8, length u8
  kManage,  // function u8, which command u8
  kAnswer,  // which command u8, flags u8, status u8, credits, residuals, lengths, rest u8, bytes
  kAnswerTask,  // which task management u8, likewise
  kAnyTag,      // a tag u64, likewise
  kCredits,     // credits
  kEvent,       // credits, sense length, rest u8, bytes
  kLogout,      // reason u32
  kBytes,       // how many u8, and these
  kRoom,        // IUs that the sender takes from now on u8
  kFlush,       //
  kCount
};

// A number is one of hostile_number(): a byte, and mostly four more.

}  // namespace paravane::fake
