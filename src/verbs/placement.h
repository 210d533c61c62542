// Placement represents a peer's request in progress. Responder::begin() checks a request and
// returns a Placement if the request is accepted. The transport then uses the Placement to place
// the bytes, and finishes it. If the Placement is destroyed earlier, the request is abandoned. A
// receive that was taken for the request stays with the responder. It is used for the next message
// or is flushed.
//
// A Placement ends early when the queue pair leaves its state or is destroyed, or when the peer
// begins another request. Every later call returns kNoAnswer, so a transport that continues in a
// later turn (time slice of the worker) needs no other check.
//
// Owner thread only.

#pragma once

#include <cstdint>

#include "guestmem/extent.h"
#include "verbs/transport.h"

namespace paravane::verbs {

class QueuePair;
class Responder;

// What only the last packet of a message says (IBTA 9.2, and 9.3 on immediate data and on the key
// to invalidate). A message that began as kSend ends as one of the three sends, and one that began
// as kRdmaWrite as one of the two writes.
struct MessageEnd {
  WrOpcode opcode = WrOpcode::kSend;
  std::uint64_t length = 0;  // of the whole message
  bool solicited = false;
  Immediate imm{};
  std::uint32_t invalidated_key = 0;
};

class [[nodiscard]] Placement {
 public:
  // Only a responder can create a Placement, because it keeps a pointer to it.
  class Key {
    friend class Responder;
    Key() = default;
  };
  // REQUIRES: `responder` has no Placement.
  Placement(Key key, Responder& responder);
  Placement(Placement&& other) noexcept;
  Placement& operator=(Placement&& other) noexcept;
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
  ~Placement() {
    if (responder_ != nullptr) give_up();
  }

  // Not finished, and not ended by the queue pair.
  bool is_live() const { return responder_ != nullptr; }
  // The queue pair on which the request acts; it is the requester's peer. REQUIRES: is_live().
  QueuePair& queue_pair() const;

  // Finds the memory to which bytes [offset, offset+length) of the message go (or, for RDMA READ,
  // from which they come). A send that arrives in packets grows with these calls, and is refused
  // where it no longer fits into its receive. Any result but kDone is the response to the peer;
  // then what was appended to `out` is unspecified, and the placement must be destroyed.
  Outcome extents(std::uint64_t offset, std::uint64_t length, ExtentList& out);

  // Executes an atomic and returns the previous value of the word. If the response to an atomic was
  // lost, it is answered from memory and not executed again (IBTA 9.4.5), as long as no more than
  // max_dest_reads others have come after it.
  Outcome atomic(std::uint64_t& before);

  // All bytes are in place. Makes the request visible to the guest and ends the placement.
  // REQUIRES: the request did not begin as Arrives::kInPackets.
  Outcome finish();
  // The same for a request that began as Arrives::kInPackets. After kReceiverNotReady and
  // kMemoryAbsent the placement is still alive, and the peer sends its last packet again.
  Outcome finish(const MessageEnd& end);

 private:
  friend class Responder;  // ends it
  void give_up();

  Responder* responder_;  // which points back; null: ended
};

}  // namespace paravane::verbs
