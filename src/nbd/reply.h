// The header of a reply: a simple one, or the one chunk of a structured reply (proto.md, "Simple
// reply message" and "Structured reply chunk message"). Payload of a read follows it.
//
// Any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "nbd/protocol.h"

namespace paravane::nbd {

inline constexpr std::size_t kMostMessageBytes = 96;
inline constexpr std::size_t kMostReplyHeader = sizeof(ErrorChunk) + kMostMessageBytes;

struct Reply {
  std::uint64_t handle = 0;
  ReplyError error = ReplyError::kNone;
  std::string_view message{};       // of an error; what is above kMostMessageBytes is left out
  std::uint64_t offset = 0;         // of the payload
  std::uint32_t payload_bytes = 0;  // that follow; 0: of an error, and of what is not a read
};

// Returns how many bytes it has. REQUIRES: kMostReplyHeader bytes of room.
std::size_t write_reply(const Reply& reply, bool is_structured, std::span<std::byte> to);

}  // namespace paravane::nbd
