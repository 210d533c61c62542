// Defines the operation codes of RoCE packets, and which headers follow the base header for each
// code (IBTA volume 1, table 38 and 9.3).
//
// Plain values; any thread.

#pragma once

#include <cstdint>

namespace paravane::wire::roce {

// The highest three bits give the service: 000 for a reliable connection, 011 for an unreliable
// datagram.
enum class Opcode : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0A,
  kWriteOnlyImm = 0x0B,
  kReadRequest = 0x0C,
  kReadResponseFirst = 0x0D,
  kReadResponseMiddle = 0x0E,
  kReadResponseLast = 0x0F,
  kReadResponseOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInvalidate = 0x16,
  kSendOnlyInvalidate = 0x17,
  kDatagramOnly = 0x64,
  kDatagramOnlyImm = 0x65,
};

enum Extension : std::uint32_t {
  kDeth = 1,       // datagram: Q_Key, source queue pair
  kReth = 2,       // RDMA: address, key, length
  kAtomicEth = 4,  // address, key, operands
  kAeth = 8,       // acknowledgement: syndrome, message number
  kAtomicAckEth = 16,
  kImmDt = 32,
  kIeth = 64,  // the key to invalidate
};
using Extensions = std::uint32_t;

// The headers follow the base header in the order of these bits.
constexpr Extensions extensions_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSendFirst:
    case Opcode::kSendMiddle:
    case Opcode::kSendLast:
    case Opcode::kSendOnly:
    case Opcode::kWriteMiddle:
    case Opcode::kWriteLast:
    case Opcode::kReadResponseMiddle: return 0;
    case Opcode::kSendLastImm:
    case Opcode::kSendOnlyImm:
    case Opcode::kWriteLastImm: return kImmDt;
    case Opcode::kSendLastInvalidate:
    case Opcode::kSendOnlyInvalidate: return kIeth;
    case Opcode::kWriteFirst:
    case Opcode::kWriteOnly:
    case Opcode::kReadRequest: return kReth;
    case Opcode::kWriteOnlyImm: return kReth | kImmDt;
    case Opcode::kReadResponseFirst:
    case Opcode::kReadResponseLast:
    case Opcode::kReadResponseOnly:
    case Opcode::kAcknowledge: return kAeth;
    case Opcode::kAtomicAcknowledge: return kAeth | kAtomicAckEth;
    case Opcode::kCompareSwap:
    case Opcode::kFetchAdd: return kAtomicEth;
    case Opcode::kDatagramOnly: return kDeth;
    case Opcode::kDatagramOnlyImm: return kDeth | kImmDt;
  }
  return 0;
}

// ---- The syndrome of an AETH (IBTA 9.7.5.2.1) ----

// An acknowledgement without information about credits.
inline constexpr std::uint8_t kAcknowledged = 0x1F;
constexpr std::uint8_t receiver_not_ready(std::uint8_t timer) {
  return static_cast<std::uint8_t>(0x20 | (timer & 0x1F));
}
enum class NakCode : std::uint8_t {
  kSequenceError = 0,
  kInvalidRequest = 1,
  kRemoteAccessError = 2,
  kRemoteOperationalError = 3,
};
constexpr std::uint8_t refused(NakCode code) {
  return static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(code));
}

}  // namespace paravane::wire::roce
