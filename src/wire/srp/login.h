// Defines the IUs of a login (r16a, 6.2 to 6.4): the request in the form of InfiniBand's connection
// manager (CM) and in that of RDMA's, the response and the rejection.
//
// They are private data of CM messages, which end in zeros. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/srp/opcode.h"

namespace paravane::wire::srp {

using PortId = std::array<std::uint8_t, 16>;

// What becomes of other connections of the same two ports: the two lowest bits of a request's
// flags.
inline constexpr std::uint8_t kChannelSingle = 0;  // they end
inline constexpr std::uint8_t kChannelMulti = 1;   // they stay

struct LoginRequest {  // 6.2
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kLoginRequest);
  std::array<std::uint8_t, 7> reserved{};
  Be64 tag{};
  Be32 request_iu_bytes{};  // the longest IU that the initiator will send
  Be32 reserved_2{};
  Be16 formats{};
  std::uint8_t flags = 0;
  std::uint8_t reserved_3 = 0;
  Be32 reserved_4{};
  PortId initiator{};
  PortId target{};
};
static_assert(sizeof(LoginRequest) == 64);
static_assert(offsetof(LoginRequest, tag) == 8);
static_assert(offsetof(LoginRequest, request_iu_bytes) == 16);
static_assert(offsetof(LoginRequest, formats) == 24);
static_assert(offsetof(LoginRequest, initiator) == 32);
static_assert(offsetof(LoginRequest, target) == 48);

// In 56 bytes, because the RDMA CM leaves no more. It is no part of r16a; ib_srpt of Linux takes
// it (SRP_LOGIN_REQ_RDMA).
struct RdmaLoginRequest {
  Be64 tag{};
  Be16 formats{};
  std::uint8_t flags = 0;
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kLoginRequest);
  Be32 request_iu_bytes{};
  PortId initiator{};
  PortId target{};
  Be16 immediate_offset{};  // of SRP2; 0: none
  std::array<std::uint8_t, 6> reserved{};
};
static_assert(sizeof(RdmaLoginRequest) == 56);
static_assert(offsetof(RdmaLoginRequest, opcode) == 11);
static_assert(offsetof(RdmaLoginRequest, request_iu_bytes) == 12);
static_assert(offsetof(RdmaLoginRequest, initiator) == 16);
static_assert(offsetof(RdmaLoginRequest, target) == 32);
static_assert(offsetof(RdmaLoginRequest, immediate_offset) == 48);

// What became of other connections: the two lowest bits of a response's flags.
enum class ChannelResult : std::uint8_t {
  kNoneBefore = 0,
  kTerminated = 1,
  kMaintained = 2,
};
inline constexpr std::uint8_t kChannelResultBits = 0x03;

struct LoginResponse {  // 6.3
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kLoginResponse);
  std::array<std::uint8_t, 3> reserved{};
  Be32 request_limit_delta{};
  Be64 tag{};
  Be32 most_initiator_iu_bytes{};  // to the target
  Be32 most_target_iu_bytes{};     // from the target
  Be16 formats{};
  std::uint8_t flags = 0;
  std::array<std::uint8_t, 25> reserved_2{};
};
static_assert(sizeof(LoginResponse) == 52);
static_assert(offsetof(LoginResponse, tag) == 8);
static_assert(offsetof(LoginResponse, most_initiator_iu_bytes) == 16);
static_assert(offsetof(LoginResponse, formats) == 24);
static_assert(offsetof(LoginResponse, flags) == 26);

enum class RejectReason : std::uint32_t {
  kUnableToEstablish = 0x0001'0000,
  kInsufficientResources = 0x0001'0001,
  kIuTooLong = 0x0001'0002,
  kUnableToAssociate = 0x0001'0003,
  kUnsupportedFormat = 0x0001'0004,
  kNoMultipleChannels = 0x0001'0005,
  kChannelLimit = 0x0001'0006,
};

struct LoginReject {  // 6.4
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kLoginReject);
  std::array<std::uint8_t, 3> reserved{};
  Be32 reason{};
  Be64 tag{};
  Be64 reserved_2{};
  Be16 formats{};
  std::array<std::uint8_t, 6> reserved_3{};
};
static_assert(sizeof(LoginReject) == 32);
static_assert(offsetof(LoginReject, tag) == 8);
static_assert(offsetof(LoginReject, formats) == 24);

}  // namespace paravane::wire::srp
