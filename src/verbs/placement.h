// Placement: a peer's request in progress. Responder::begin() checks the request and returns one;
// a transport places the bytes and finishes it. Dropping it earlier abandons the request: a
// receive that was taken for it stays with the responder, for the next message or to be flushed.
//
// A placement ends early when the queue pair leaves its state or is destroyed, or when the peer
// begins another request. Every call then returns kNoAnswer, so a holder that resumes after a turn
// needs no other check that the request is still its own.
//
// Owner thread only.

#pragma once

#include <cstdint>

#include "guestmem/extent.h"
#include "verbs/transport.h"

namespace paravane::verbs {

class QueuePair;
class Responder;

class [[nodiscard]] Placement {
 public:
  // Only a responder can make one, in place, for it points back.
  class Key {
    friend class Responder;
    Key() = default;
  };
  // REQUIRES: `responder` has none.
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
  // The peer's, on which the request acts. REQUIRES: is_live().
  QueuePair& queue_pair() const;

  // Where bytes [offset, offset+length) of the message go (or come from, for RDMA READ).
  // kDone, or the answer to the peer; then what was appended to `out` is unspecified, and
  // the placement is to be dropped.
  Outcome extents(std::uint64_t offset, std::uint64_t length, ExtentList& out);

  // An atomic: what the word was before. One whose answer was lost is answered again from
  // memory, not executed again (IBTA 9.4.5), as long as no more than max_dest_reads others
  // have come after it.
  Outcome atomic(std::uint64_t& before);

  // All bytes are in place: they are made visible, and the placement has ended.
  Outcome finish();

 private:
  friend class Responder;  // ends it
  void give_up();

  Responder* responder_;  // which points back; null: ended
};

}  // namespace paravane::verbs
