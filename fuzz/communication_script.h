// The acts of communication_fuzz's input, each one byte and then what it takes.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class CommunicationAct : std::uint8_t {
  kConnect,  // to a peer u8
  kOrder,    // which u8, for a connection u8
  kMessage,  // which u8, about a connection u8, lies u8 (bits), a number u32
  kBytes,    // from a peer u8: how many u8, and these, then zeros
  kTime,     // milliseconds u16
  kRoom,     // messages that the port takes from now on u8
  kCount
};

enum class CommunicationOrder : std::uint8_t { kReadyToUse, kReject, kDisconnect, kForget, kCount };

// What is wrong in a message: bits.
namespace communication_lie {
inline constexpr std::uint8_t kSender = 1;
inline constexpr std::uint8_t kOurId = 2;
inline constexpr std::uint8_t kTheirId = 4;
inline constexpr std::uint8_t kQueuePair = 8;
inline constexpr std::uint8_t kVersion = 16;
inline constexpr std::uint8_t kRejected = 32;  // which message is rejected, or worked on
}  // namespace communication_lie

}  // namespace paravane::fake
