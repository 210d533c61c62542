// What an opcode of a reliable connection says about its packet.
//
// Pure functions; any thread. Source: IBTA volume 1, table 38.

#pragma once

#include <cstdint>

#include "wire/roce/opcode.h"

namespace paravane::transport_roce {

enum class PacketKind : std::uint8_t { kSend, kWrite, kRead, kAtomic, kAnswer, kOther };

struct OpcodeFacts {
  PacketKind kind = PacketKind::kOther;
  bool is_first = false;  // of its message
  bool is_last = false;
};

constexpr OpcodeFacts facts_of(wire::roce::Opcode opcode) {
  using enum wire::roce::Opcode;
  switch (opcode) {
    case kSendFirst: return {PacketKind::kSend, true, false};
    case kSendMiddle: return {PacketKind::kSend, false, false};
    case kSendLast:
    case kSendLastImm:
    case kSendLastInvalidate: return {PacketKind::kSend, false, true};
    case kSendOnly:
    case kSendOnlyImm:
    case kSendOnlyInvalidate: return {PacketKind::kSend, true, true};
    case kWriteFirst: return {PacketKind::kWrite, true, false};
    case kWriteMiddle: return {PacketKind::kWrite, false, false};
    case kWriteLast:
    case kWriteLastImm: return {PacketKind::kWrite, false, true};
    case kWriteOnly:
    case kWriteOnlyImm: return {PacketKind::kWrite, true, true};
    case kReadRequest: return {PacketKind::kRead, true, true};
    case kCompareSwap:
    case kFetchAdd: return {PacketKind::kAtomic, true, true};
    case kReadResponseFirst:
    case kReadResponseMiddle:
    case kReadResponseLast:
    case kReadResponseOnly:
    case kAcknowledge:
    case kAtomicAcknowledge: return {PacketKind::kAnswer, false, false};
    case kDatagramOnly:
    case kDatagramOnlyImm:
    case kCongestionNotification:
    case kProbe:
    case kProbeAnswer: break;
  }
  return {};
}

}  // namespace paravane::transport_roce
