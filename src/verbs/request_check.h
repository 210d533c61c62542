// Checks a send request before any part of it is carried out. These are the requester's checks, in
// the order of the specification (IBTA 10.8.3, 10.10.2).

#pragma once

#include <cstdint>

#include "guestmem/atomic_word.h"
#include "verbs/memory_region.h"
#include "verbs/qp_attributes.h"
#include "verbs/responder.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

// The limit for datagrams: a datagram is one packet, so its payload is at most the path MTU.
inline constexpr std::uint64_t kMaxDatagramBytes = 4096;

// The right that the request's own buffers must give.
AccessMask local_need(WrOpcode opcode);
// The right that the memory region of its key must give, and the peer's queue pair.
constexpr AccessMask remote_need(WrOpcode opcode) {
  if (opcode == WrOpcode::kRdmaRead) return kAccessRemoteRead;
  if (is_atomic(opcode)) return kAccessRemoteAtomic;
  return is_send(opcode) ? 0 : AccessMask{kAccessRemoteWrite};
}

WcOpcode completion_opcode(WrOpcode opcode);

// The request of `qp` as its peer gets it.
RemoteRequest as_the_peer_sees(const QueuePair& qp, const SendRequest& request);

// What an atomic does to its word.
WordChange word_change(WrOpcode opcode, std::uint64_t compare_add, std::uint64_t swap);

// kSuccess, or the status with which the request completes.
WcStatus check_send(QpType type, const QpAttributes& attributes, PdNumber pd,
                    MemoryRegionTable& regions, const SendRequest& request);

}  // namespace paravane::verbs
