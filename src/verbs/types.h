// Defines the basic types of the RDMA engine, with the names that the InfiniBand Architecture (IBTA
// volume 1) uses. If the Linux verbs interface defines a numeric value, the same value is used
// here. Other components convert the values by name, and a test can compare them.

#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paravane::verbs {

inline constexpr std::uint32_t kMaxSges = 32;                // per work request
inline constexpr std::uint32_t kMaxMessageBytes = 1u << 31;  // IBTA volume 1, 9.7.1
inline constexpr std::uint32_t kGrhBytes = 40;               // in front of every datagram's payload
using GrhArea = std::array<std::byte, kGrhBytes>;
inline constexpr std::uint32_t kGsiQpNumber = 1;
inline constexpr std::uint32_t kQpNumberMask = 0xFFFFFF;  // 24 bits on the wire

enum class QpType : std::uint8_t { kReliableConnected, kUnreliableDatagram, kGeneralServices };

enum class QpState : std::uint8_t {
  kReset,
  kInit,
  kReadyToReceive,
  kReadyToSend,
  kSendQueueDrain,
  kSendQueueError,
  kError,
};
inline constexpr int kQpStateCount = 7;
std::string_view to_string(QpState state);

struct Gid {
  std::array<std::uint8_t, 16> raw{};  // network order
  friend auto operator<=>(const Gid&, const Gid&) = default;
  // Each message needs this comparison, so it compares two words instead of calling memcmp.
  friend bool operator==(const Gid& a, const Gid& b) {
    using Words = std::array<std::uint64_t, 2>;
    const auto left = std::bit_cast<Words>(a.raw);
    const auto right = std::bit_cast<Words>(b.raw);
    return left[0] == right[0] && left[1] == right[1];
  }
};

enum class GidType : std::uint8_t { kRoceV1 = 1, kRoceV2 = 2 };

enum class WcStatus : std::uint8_t {
  kSuccess = 0,
  kLocalLengthError = 1,
  kLocalQpOperationError = 2,
  kLocalProtectionError = 4,
  kFlushed = 5,
  kMemoryWindowBindError = 6,
  kBadResponse = 7,
  kLocalAccessError = 8,
  kRemoteInvalidRequest = 9,
  kRemoteAccessError = 10,
  kRemoteOperationError = 11,
  kRetryExceeded = 12,
  kRnrRetryExceeded = 13,
  kRemoteAborted = 16,
  kFatal = 19,
  kGeneral = 21,
};
std::string_view to_string(WcStatus status);

enum class WrOpcode : std::uint8_t {
  kRdmaWrite,
  kRdmaWriteWithImm,
  kSend,
  kSendWithImm,
  kRdmaRead,
  kCompareAndSwap,
  kFetchAndAdd,
  kSendWithInvalidate,
  kLocalInvalidate,
  kFastRegister,
};

inline constexpr std::uint32_t kAtomicBytes = 8;

constexpr bool is_atomic(WrOpcode opcode) {
  return opcode == WrOpcode::kCompareAndSwap || opcode == WrOpcode::kFetchAndAdd;
}
constexpr bool is_send(WrOpcode opcode) {
  return opcode == WrOpcode::kSend || opcode == WrOpcode::kSendWithImm ||
         opcode == WrOpcode::kSendWithInvalidate;
}
// It is told to the peer's program when it is placed, which needs a posted receive.
constexpr bool consumes_receive(WrOpcode opcode) {
  return is_send(opcode) || opcode == WrOpcode::kRdmaWriteWithImm;
}
// Whether the request changes the meaning of one of the requester's own keys.
constexpr bool is_registration(WrOpcode opcode) {
  return opcode == WrOpcode::kFastRegister || opcode == WrOpcode::kLocalInvalidate;
}
// The peer's answer carries payload back to the requester.
constexpr bool brings_bytes(WrOpcode opcode) {
  return opcode == WrOpcode::kRdmaRead || is_atomic(opcode);
}

enum class WcOpcode : std::uint8_t {
  kSend,
  kRdmaWrite,
  kRdmaRead,
  kCompareAndSwap,
  kFetchAndAdd,
  kLocalInvalidate,
  kFastRegister,
  kReceive,
  kReceiveRdmaWithImm,
};

// Access rights of memory regions and queue pairs, one bit each.
enum Access : std::uint32_t {
  kAccessLocalWrite = 1,
  kAccessRemoteWrite = 2,
  kAccessRemoteRead = 4,
  kAccessRemoteAtomic = 8,
};
using AccessMask = std::uint32_t;
inline constexpr AccessMask kAccessKnown =
    kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;

struct Sge {
  std::uint64_t addr = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

// The destination of a datagram (per request) or of a connection (per queue pair).
struct AddressVector {
  Gid dgid;
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t sgid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::array<std::uint8_t, 6> dmac{};
};

using Immediate = std::array<std::byte, 4>;  // as it stood in the sender's request

}  // namespace paravane::verbs
