// Defines the operation codes of RoCE packets, and which headers follow the base header for each
// code (IBTA volume 1, table 38 and 9.3).
//
// Plain values; any thread.

#pragma once

#include <cstdint>
#include <optional>

namespace paravane::wire::roce {

// The highest three bits give the service: 000 for a reliable connection, 011 for an unreliable
// datagram. The services that Paravane does not have are left out.
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
  kCongestionNotification = 0x81,  // RoCE v2; the base header has BECN (annex A17.9)
  // Of the codes that the standard leaves to manufacturers, 110 and 111; see probe.h.
  kProbe = 0xC0,
  kProbeAnswer = 0xC1,
};

enum Extension : std::uint32_t {
  kDeth = 1,       // datagram: Q_Key, source queue pair
  kReth = 2,       // RDMA: address, key, length
  kAtomicEth = 4,  // address, key, operands
  kAeth = 8,       // acknowledgement: syndrome, message number
  kAtomicAckEth = 16,
  kImmDt = 32,
  kIeth = 64,         // the key to invalidate
  kCongestion = 128,  // reserved bytes
};
using Extensions = std::uint32_t;

// The headers that follow the base header of this code, in the order of the bits. nullopt: no
// packet has this code.
constexpr std::optional<Extensions> known_extensions(std::uint8_t code) {
  switch (static_cast<Opcode>(code)) {
    case Opcode::kSendFirst:
    case Opcode::kSendMiddle:
    case Opcode::kSendLast:
    case Opcode::kSendOnly:
    case Opcode::kWriteMiddle:
    case Opcode::kWriteLast:
    case Opcode::kReadResponseMiddle:
    case Opcode::kProbe:
    case Opcode::kProbeAnswer: return 0;
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
    case Opcode::kCongestionNotification: return kCongestion;
  }
  return std::nullopt;
}

constexpr Extensions extensions_of(Opcode opcode) {
  return known_extensions(static_cast<std::uint8_t>(opcode)).value_or(0);
}

// Whether a packet of this code may have payload. Requests for data, atomics, answers without data
// and congestion notifications have none.
constexpr bool carries_payload(Opcode opcode) {
  switch (opcode) {
    case Opcode::kReadRequest:
    case Opcode::kAcknowledge:
    case Opcode::kAtomicAcknowledge:
    case Opcode::kCompareSwap:
    case Opcode::kFetchAdd:
    case Opcode::kCongestionNotification: return false;
    case Opcode::kSendFirst:
    case Opcode::kSendMiddle:
    case Opcode::kSendLast:
    case Opcode::kSendLastImm:
    case Opcode::kSendOnly:
    case Opcode::kSendOnlyImm:
    case Opcode::kWriteFirst:
    case Opcode::kWriteMiddle:
    case Opcode::kWriteLast:
    case Opcode::kWriteLastImm:
    case Opcode::kWriteOnly:
    case Opcode::kWriteOnlyImm:
    case Opcode::kReadResponseFirst:
    case Opcode::kReadResponseMiddle:
    case Opcode::kReadResponseLast:
    case Opcode::kReadResponseOnly:
    case Opcode::kSendLastInvalidate:
    case Opcode::kSendOnlyInvalidate:
    case Opcode::kDatagramOnly:
    case Opcode::kDatagramOnlyImm:
    case Opcode::kProbe:
    case Opcode::kProbeAnswer: return true;
  }
  return false;
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
