// Observer: receives what an adapter's queue pairs exchange with their peers. An adapter has at
// most one observer, and usually none; the cost is then one check of a null pointer.
//
// It is told of each attempt of a request when it begins, before it is known whether a peer
// exists; of the response; of each peer's request when it is judged or placed, and the response to
// that; and of datagrams in both directions. An observer changes nothing and makes no calls back.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "verbs/responder.h"
#include "verbs/transport.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class QueuePair;

// As the adapter sees it.
enum class Direction : std::uint8_t { kOut, kIn };

// Reads a message's bytes from `offset` on, where they lie at this moment: good within the
// call that it is handed to. False: they are not there, and nothing can be said of `out`.
// Empty: the message has none for us.
using ReadBytes = std::function<bool(std::uint64_t offset, std::span<std::byte> out)>;

class Observer {
 public:
  virtual ~Observer() = default;

  // Of a connection. `bytes` empty: they never came; or it is one that asks for bytes.
  virtual void on_request(QueuePair& qp, Direction direction, const RemoteRequest& request,
                          const ReadBytes& bytes) = 0;
  // `direction` is the answer's. kDone of a READ or an atomic brings `bytes`; an atomic's
  // are the old value as the program finds it.
  virtual void on_answer(QueuePair& qp, Direction direction, const RemoteRequest& request,
                         const Outcome& outcome, const ReadBytes& bytes) = 0;
  // `bytes` empty: it is one that came and was dropped.
  virtual void on_datagram(QueuePair& qp, Direction direction, const DatagramSource& source,
                           const SendRequest& request, std::uint64_t length,
                           const ReadBytes& bytes) = 0;
};

}  // namespace paravane::verbs
