// The acts of device_management_fuzz's input, each one byte and then what it takes.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class DiscoveryAct : std::uint8_t {
  kStart,   // a search of addresses, how many u8
  kAnswer,  // a question of late u8, lies u8 (bits), then what the unit says
  kBytes,   // from an address u8: how many u8, and these, then zeros
  kTime,    // milliseconds u16
  kRoom,    // messages that the port takes from now on u8
  kStop,    //
  kCount
};

// What is wrong in an answer: bits. What a unit says is, after these: of a unit, how many
// controllers u8 and two times slots u8; of a controller, class u8 and services u8; of services,
// for each of four a kind of name u8.
namespace discovery_lie {
inline constexpr std::uint8_t kSender = 1;
inline constexpr std::uint8_t kAttribute = 2;
inline constexpr std::uint8_t kModifier = 4;
inline constexpr std::uint8_t kStatus = 8;
inline constexpr std::uint8_t kVersion = 16;
}  // namespace discovery_lie

}  // namespace paravane::fake
