// Defines the attributes of a queue pair, and the mask that indicates which of them a modify
// request contains. The bits of the mask have the values of Linux's ib_qp_attr_mask.

#pragma once

#include <cstdint>

#include "verbs/types.h"

namespace paravane::verbs {

enum QpAttr : std::uint32_t {
  kAttrState = 1u << 0,
  kAttrCurrentState = 1u << 1,
  kAttrSqdAsyncNotify = 1u << 2,
  kAttrAccess = 1u << 3,
  kAttrPkeyIndex = 1u << 4,
  kAttrPort = 1u << 5,
  kAttrQkey = 1u << 6,
  kAttrAddress = 1u << 7,
  kAttrPathMtu = 1u << 8,
  kAttrTimeout = 1u << 9,
  kAttrRetryCount = 1u << 10,
  kAttrRnrRetry = 1u << 11,
  kAttrReceivePsn = 1u << 12,
  kAttrMaxReads = 1u << 13,
  kAttrAlternatePath = 1u << 14,
  kAttrMinRnrTimer = 1u << 15,
  kAttrSendPsn = 1u << 16,
  kAttrMaxDestReads = 1u << 17,
  kAttrPathMigState = 1u << 18,
  kAttrCapabilities = 1u << 19,
  kAttrDestQpn = 1u << 20,
};
using QpAttrMask = std::uint32_t;

struct QpAttributes {
  QpState state = QpState::kReset;
  QpState current_state = QpState::kReset;  // the state that the caller expects (kAttrCurrentState)
  std::uint32_t path_mtu = 0;               // enum ib_mtu: 1 = 256 ... 5 = 4096
  std::uint32_t qkey = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t send_psn = 0;
  std::uint32_t dest_qpn = 0;
  AccessMask access = 0;
  std::uint16_t pkey_index = 0;
  std::uint8_t port = 1;
  bool sqd_async_notify = false;
  std::uint8_t max_reads = 0;       // outstanding as requester
  std::uint8_t max_dest_reads = 0;  // as responder
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t timeout = 0;  // 4.096 us * 2^timeout; 0: for ever
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;  // 7: for ever
  AddressVector av;
};

}  // namespace paravane::verbs
