// Defines the kinds of information units (IUs) of SRP, and the numbers that their fields hold (SCSI
// RDMA Protocol, T10 r16a, chapter 6).
//
// An IU is one message of a reliable connection. Its first byte is its kind. Numbers are in the
// byte order of the network. Plain values; any thread.

#pragma once

#include <cstddef>
#include <cstdint>

namespace paravane::wire::srp {

enum class Opcode : std::uint8_t {
  kLoginRequest = 0x00,
  kTaskManagement = 0x01,
  kCommand = 0x02,
  kInitiatorLogout = 0x03,
  kCreditResponse = 0x41,
  kAsyncEventResponse = 0x42,
  kTargetLogout = 0x80,
  kCreditRequest = 0x81,
  kAsyncEventRequest = 0x82,
  kLoginResponse = 0xC0,
  kResponse = 0xC1,
  kLoginReject = 0xC2,
};

// Ways to name memory, in the words of a login: bits.
inline constexpr std::uint16_t kFormatDirect = 1U << 1;
inline constexpr std::uint16_t kFormatIndirect = 1U << 2;

// The same, in the words of a command: four bits for each direction.
enum class DescriptorFormat : std::uint8_t { kNone = 0, kDirect = 1, kIndirect = 2 };

// The longest that each side of a connection must take (6.2, 6.3).
inline constexpr std::size_t kLeastIuBytes = 64;

// The I/O class of a target's controller: which revision of the protocol its identifiers follow.
inline constexpr std::uint16_t kIoClassR10 = 0xFF00;
inline constexpr std::uint16_t kIoClassR16a = 0x0100;

}  // namespace paravane::wire::srp
