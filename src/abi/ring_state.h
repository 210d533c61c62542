// The state of a ring, which is stored in the first 16 bytes of the ring's first page, and the
// elements of the two device rings (completion notifications and asynchronous events). A queue pair
// keeps the indices of its send queue in `tx` and those of its receive queue in `rx`. Completion
// queues, shared receive queues and device rings use only `rx`.
//
// Source: docs/device-spec.md, section 6.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::abi {

struct Ring {
  Le32 prod_tail;
  Le32 cons_head;
};

struct RingState {
  Ring tx;
  Ring rx;
};
static_assert(sizeof(RingState) == 16);

inline constexpr std::uint64_t kTxProducerAt = 0;
inline constexpr std::uint64_t kTxConsumerAt = 4;
inline constexpr std::uint64_t kRxProducerAt = 8;
inline constexpr std::uint64_t kRxConsumerAt = 12;
static_assert(offsetof(RingState, rx) == kRxProducerAt);
static_assert(offsetof(RingState, rx) + offsetof(Ring, cons_head) == kRxConsumerAt);

// A completion notification: the device writes one each time an armed completion queue fires.
struct CompletionNotice {
  Le32 cq_handle;
};
static_assert(sizeof(CompletionNotice) == 4);

struct AsyncEvent {
  Le32 type;
  Le32 info;
};
static_assert(sizeof(AsyncEvent) == 8);

enum AsyncEventType : std::uint32_t {
  kEventCqError = 0,  // info: CQ handle
  kEventQpFatal = 1,  // info: QP handle, also below
  kEventQpRequestError = 2,
  kEventQpAccessError = 3,
  kEventCommEstablished = 4,
  kEventSendQueueDrained = 5,
  kEventDeviceFatal = 8,
  kEventPortActive = 9,  // info: port number
  kEventPortError = 10,
  kEventSrqError = 14,  // info: SRQ handle
  kEventSrqLimitReached = 15,
  kEventLastWqeReached = 16,
};

}  // namespace paravane::abi
